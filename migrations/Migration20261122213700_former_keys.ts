import { Migration } from '@mikro-orm/migrations'

/** Keys of former secrets, so that links stay valid after `svc secret rotate`. */
export class Migration20261122213700_former_keys extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table "installation" add column "sealed_former_keys" text null`)
  }

  override down(): void {
    this.addSql(`alter table "installation" drop column "sealed_former_keys"`)
  }
}
