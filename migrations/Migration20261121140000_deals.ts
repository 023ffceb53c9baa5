import { Migration } from '@mikro-orm/migrations'

/**
 * Pipelines, deals and their history. Generated from the entities, then reviewed. Partial unique indexes guarantee one
 * default pipeline per account and one deal per idempotency key, also with concurrent calls.
 */
export class Migration20261121140000_deals extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `create table "deal_history" ("account_id" text collate "C" not null, "deal_id" text collate "C" not null, "number" int not null, "actor" text not null, "from_stage_id" text collate "C" null, "to_stage_id" text collate "C" not null, "at" timestamptz not null, primary key ("account_id", "deal_id", "number"))`,
    )
    this.addSql(
      `create table "pipelines" ("id" text collate "C" not null, "account_id" text collate "C" not null, "name" text not null, "is_default" boolean not null, "created_at" timestamptz not null, primary key ("id"))`,
    )
    this.addSql(`create unique index "pipelines_default_index" on "pipelines" ("account_id") where "is_default"`)
    this.addSql(
      `alter table "pipelines" add constraint "pipelines_account_id_name_unique" unique ("account_id", "name")`,
    )
    this.addSql(
      `create table "stages" ("id" text collate "C" not null, "account_id" text collate "C" not null, "pipeline_id" text collate "C" not null, "name" text not null, "kind" text not null, "position" int not null, primary key ("id"))`,
    )
    this.addSql(`alter table "stages" add constraint "stages_pipeline_id_name_unique" unique ("pipeline_id", "name")`)
    this.addSql(
      `create table "deals" ("account_id" text collate "C" not null, "id" text collate "C" not null, "title" text not null, "value" numeric(12,2) not null, "currency" text not null, "pipeline_id" text collate "C" not null, "stage_id" text collate "C" not null, "status" text not null, "source" text not null, "list_id" text collate "C" not null, "row_id" text collate "C" not null, "email" text collate "C" not null, "idempotency_key" text collate "C" null, "moves" int not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("account_id", "id"))`,
    )
    this.addSql(`create index "deals_stage_id_id_index" on "deals" ("stage_id", "id")`)
    this.addSql(`create index "deals_account_id_row_id_index" on "deals" ("account_id", "row_id")`)
    this.addSql(`create index "deals_account_id_email_index" on "deals" ("account_id", "email")`)
    this.addSql(
      `create unique index "deals_idempotency_key_index" on "deals" ("account_id", "idempotency_key") where "idempotency_key" is not null`,
    )
    this.addSql(
      `alter table "stages" add constraint "stages_pipeline_id_foreign" foreign key ("pipeline_id") references "pipelines" ("id") on delete restrict`,
    )
    this.addSql(`alter table "stages" add constraint "stages_kind_check" check ("kind" in ('open', 'won', 'lost'))`)
    this.addSql(
      `alter table "deals" add constraint "deals_stage_id_foreign" foreign key ("stage_id") references "stages" ("id") on delete restrict`,
    )
    this.addSql(`alter table "deals" add constraint "deals_status_check" check ("status" in ('open', 'won', 'lost'))`)
    this.addSql(
      `alter table "deals" add constraint "deals_source_check" check ("source" in ('manual', 'journey', 'booking', 'checkout', 'proposal', 'api'))`,
    )
  }

  override down(): void {
    this.addSql(`drop table if exists "deals" cascade`)
    this.addSql(`drop table if exists "stages" cascade`)
    this.addSql(`drop table if exists "pipelines" cascade`)
    this.addSql(`drop table if exists "deal_history" cascade`)
  }
}
