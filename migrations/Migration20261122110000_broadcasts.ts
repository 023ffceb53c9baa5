import { Migration } from '@mikro-orm/migrations'

/** Broadcasts, and batches of messages with a queue order and counts of their own. Generated from the entities, then reviewed. */
export class Migration20261122110000_broadcasts extends Migration {
  static readonly change = 'contract'

  override up(): void {
    this.addSql(`alter table "message_queue" add column "batch" text collate "C" not null default ''`)
    this.addSql(`drop index "message_queue_due_index"`)
    this.addSql(`create index "message_queue_due_index" on "message_queue" ("account_id", "batch", "due_at")`)
    this.addSql(
      `create table "message_tallies" ("account_id" text collate "C" not null, "batch" text collate "C" not null, "id" uuid not null default gen_random_uuid(), "status" text not null, "count" int not null, primary key ("account_id", "batch", "id"))`,
    )
    this.addSql(
      `alter table "message_tallies" add constraint "message_tallies_status_check" check ("status" in ('sent', 'failed', 'suppressed'))`,
    )
    this.addSql(
      `create table "broadcasts" ("id" text collate "C" not null, "account_id" text collate "C" not null, "status" text not null, "list_id" text collate "C" not null, "project_id" text collate "C" not null, "subject" text null, "rate" int null, "scheduled_at" timestamptz null, "started_at" timestamptz null, "checkpoint" text collate "C" null, "paced_at" timestamptz null, "recipients" int not null, "queued" int not null default 0, "sent" int not null default 0, "failed" int not null default 0, "suppressed" int not null default 0, "created_at" timestamptz not null, "finished_at" timestamptz null, primary key ("id"))`,
    )
    this.addSql(
      `alter table "broadcasts" add constraint "broadcasts_status_check" check ("status" in ('scheduled', 'sending', 'done', 'cancelled'))`,
    )
    this.addSql(`create index "broadcasts_account_id_id_index" on "broadcasts" ("account_id", "id")`)
    this.addSql(
      `create index "broadcasts_open_index" on "broadcasts" (coalesce("scheduled_at", "created_at")) where "finished_at" is null`,
    )
  }

  override down(): void {
    this.addSql(`drop table if exists "broadcasts" cascade`)
    this.addSql(`drop table if exists "message_tallies" cascade`)
    this.addSql(`drop index "message_queue_due_index"`)
    this.addSql(`alter table "message_queue" drop column "batch"`)
    this.addSql(`create index "message_queue_due_index" on "message_queue" ("account_id", "due_at")`)
  }
}
