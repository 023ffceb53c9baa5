import { Migration } from '@mikro-orm/migrations'

/** What hosted pages and built-in emails show of an account. */
export class Migration20261124093000_brands extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `create table "brands" ("account_id" text collate "C" not null, "brand_name" text null, "logo" bytea null, "logo_type" text null, "logo_hash" text null, "color" text null, "postal_address" text null, "privacy_url" text null, "timezone" text null, "lang" text null, primary key ("account_id"))`,
    )
  }

  override down(): void {
    this.addSql(`drop table "brands"`)
  }
}
