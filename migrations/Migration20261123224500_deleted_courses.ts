import { Migration } from '@mikro-orm/migrations'

/** Deleted courses whose keys and progress are still being deleted. */
export class Migration20261123224500_deleted_courses extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `create table "deleted_courses" ("account_id" text collate "C" not null, "id" text collate "C" not null, "started_at" timestamptz not null, primary key ("account_id", "id"))`,
    )
  }

  override down(): void {
    this.addSql(`drop table if exists "deleted_courses" cascade`)
  }
}
