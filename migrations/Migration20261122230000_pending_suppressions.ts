import { Migration } from '@mikro-orm/migrations'

/** Recorded bounces whose recipients are not suppressed yet. */
export class Migration20261122230000_pending_suppressions extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `create table "pending_suppressions" ("account_id" text collate "C" not null, "message_id" text collate "C" not null, primary key ("account_id", "message_id"))`,
    )
  }

  override down(): void {
    this.addSql(`drop table if exists "pending_suppressions" cascade`)
  }
}
