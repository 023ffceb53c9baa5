import { Migration } from '@mikro-orm/migrations'

/** Jobs skip the accounts that are being deleted, or are exported. */
export class Migration20261124090100_closed_accounts extends Migration {
  static readonly change = 'expand'

  override isTransactional(): boolean {
    return false
  }

  override up(): void {
    this.addSql(
      `create index concurrently if not exists "accounts_closed_index" on "accounts" ("id") where "deleted_at" is not null or "move" is not null`,
    )
  }

  override down(): void {
    this.addSql(`drop index "accounts_closed_index"`)
  }
}
