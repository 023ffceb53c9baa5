import { Migration } from '@mikro-orm/migrations'

/** The keys of links signed under former secrets, so that `svc secret rotate` ends none of them. */
export class Migration20261122213700_former_keys extends Migration {
  override up(): void {
    this.addSql(`alter table "installation" add column "sealed_former_keys" text null`)
  }

  override down(): void {
    this.addSql(`alter table "installation" drop column "sealed_former_keys"`)
  }
}
