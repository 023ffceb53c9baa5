import { Migration } from '@mikro-orm/migrations'

/** Journeys, their versions, their runs and the log of each run. Generated from the entities, then reviewed. */
export class Migration20261121150000_journeys extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `create table "journeys" ("id" text collate "C" not null, "account_id" text collate "C" not null, "name" text not null, "enabled" boolean not null, "trigger_kind" text not null, "trigger_key" text null, "version" int not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"))`,
    )
    this.addSql(
      `create index "journeys_trigger_index" on "journeys" ("account_id", "trigger_kind", "trigger_key") where "enabled"`,
    )
    this.addSql(`alter table "journeys" add constraint "journeys_account_id_name_unique" unique ("account_id", "name")`)
    this.addSql(
      `create table "journey_versions" ("account_id" text collate "C" not null, "journey_id" text collate "C" not null, "version" int not null, "definition" jsonb not null, "look_at" timestamptz null, primary key ("account_id", "journey_id", "version"))`,
    )
    this.addSql(
      `create table "journey_exits" ("account_id" text collate "C" not null, "rule" text not null, "journey_id" text collate "C" not null, "version" int not null, primary key ("account_id", "rule", "journey_id", "version"))`,
    )
    this.addSql(
      `create table "journey_runs" ("account_id" text collate "C" not null, "id" text collate "C" not null, "journey_id" text collate "C" not null, "version" int not null, "list_id" text collate "C" not null, "row_id" text collate "C" not null, "email" text collate "C" not null, "status" text not null, "reason" text null, "cursor" jsonb null, "step_no" int not null default 0, "revision" int not null default 0, "due_at" timestamptz not null, "retry_at" timestamptz null, "tries" int not null default 0, "last_fault" text null, "awaited" text null, "awaited_where" jsonb null, "delivery_id" text collate "C" null, "context" jsonb not null, "depth" int not null default 0, "root_id" text collate "C" null, "entered_at" timestamptz not null, "ended_at" timestamptz null, primary key ("account_id", "id"))`,
    )
    this.addSql(`create index "journey_runs_journey_id_row_id_index" on "journey_runs" ("journey_id", "row_id")`)
    this.addSql(
      `create index "journey_runs_due_index" on "journey_runs" ((greatest("due_at", "retry_at"))) where "status" in ('running', 'waiting') and "delivery_id" is null`,
    )
    this.addSql(
      `create index "journey_runs_turn_index" on "journey_runs" ("account_id", (greatest("retry_at", "due_at"))) where "status" in ('running', 'waiting') and "delivery_id" is null`,
    )
    this.addSql(
      `create index "journey_runs_active_index" on "journey_runs" ("row_id") where "status" in ('running', 'waiting')`,
    )
    this.addSql(
      `create index "journey_runs_awaited_index" on "journey_runs" ("account_id", "awaited") where "awaited" is not null`,
    )
    this.addSql(
      `create index "journey_runs_delivery_index" on "journey_runs" ("delivery_id") where "delivery_id" is not null`,
    )
    this.addSql(`create index "journey_runs_root_index" on "journey_runs" ("root_id") where "root_id" is not null`)
    this.addSql(
      `alter table "journey_runs" add constraint "journey_runs_status_check" check ("status" in ('running', 'waiting', 'completed', 'exited', 'failed'))`,
    )
    this.addSql(
      `create table "journey_step_log" ("account_id" text collate "C" not null, "run_id" text collate "C" not null, "step_no" int not null, "at" timestamptz not null, "step" text not null, "kind" text not null, "outcome" text not null, primary key ("account_id", "run_id", "step_no"))`,
    )
  }

  override down(): void {
    this.addSql(`drop table if exists "journey_step_log" cascade`)
    this.addSql(`drop table if exists "journey_runs" cascade`)
    this.addSql(`drop table if exists "journey_exits" cascade`)
    this.addSql(`drop table if exists "journey_versions" cascade`)
    this.addSql(`drop table if exists "journeys" cascade`)
  }
}
