import { Migration } from '@mikro-orm/migrations'

/** Broadcasts can be paused. */
export class Migration20261124070300_broadcast_pauses extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table "broadcasts" add column "paused_at" timestamptz null`)
    this.addSql(`create table "message_pauses" ("account_id" text collate "C" not null, "batch" text collate "C" not null,
      primary key ("account_id", "batch"))`)
  }

  override down(): void {
    this.addSql(`drop table "message_pauses"`)
    this.addSql(`alter table "broadcasts" drop column "paused_at"`)
  }
}
