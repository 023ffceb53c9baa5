import { Migration } from '@mikro-orm/migrations'

/** Stores the daemon's public URL, so that commands create the same links. */
export class Migration20261123153000_public_url extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table "installation" add column "public_url" text null`)
  }

  override down(): void {
    this.addSql(`alter table "installation" drop column "public_url"`)
  }
}
