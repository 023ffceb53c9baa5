import { Migration } from '@mikro-orm/migrations'

/** Deleted lists whose contacts are still being deleted. */
export class Migration20261122181000_leaving_lists extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `create table "leaving_lists" ("id" text collate "C" not null, "account_id" text collate "C" not null, "name" text not null, "started_at" timestamptz not null, primary key ("id"))`,
    )
    this.addSql(`create index "leaving_lists_account_id_index" on "leaving_lists" ("account_id")`)
  }

  override down(): void {
    this.addSql(`drop table if exists "leaving_lists" cascade`)
  }
}
