import { Migration } from '@mikro-orm/migrations'

/** Contacts that have been in a journey, kept after their runs are purged. */
export class Migration20261123101000_past_entries extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `create table "past_entries" ("account_id" text collate "C" not null, "list_id" text collate "C" not null, "row_id" text collate "C" not null, "journey_id" text collate "C" not null, primary key ("account_id", "list_id", "row_id", "journey_id"))`,
    )
  }

  override down(): void {
    this.addSql(`drop table if exists "past_entries" cascade`)
  }
}
