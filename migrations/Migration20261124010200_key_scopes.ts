import { Migration } from '@mikro-orm/migrations'

/** Scopes, expiry and last use of API keys. Existing keys have no scope, which allows everything, and do not expire. */
export class Migration20261124010200_key_scopes extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `alter table "api_keys" add column "scopes" text[] null, add column "expires_at" timestamptz null, add column "last_used_at" timestamptz null`,
    )
  }

  override down(): void {
    this.addSql(`alter table "api_keys" drop column "scopes", drop column "expires_at", drop column "last_used_at"`)
  }
}
