import { Migration } from '@mikro-orm/migrations'

/** Interactions of recipients with emails, and lead scores. Generated from the entities, then reviewed. */
export class Migration20261122090000_engagement extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `create table "interactions" ("account_id" text collate "C" not null, "message_id" text collate "C" not null, "kind" text not null, "block_id" text collate "C" not null, "link" text collate "C" not null, "is_bot" boolean not null, "id" text collate "C" not null, "project_id" text collate "C" not null, "email" text collate "C" not null, "value" jsonb null, "at" timestamptz not null, primary key ("account_id", "message_id", "kind", "block_id", "link", "is_bot"))`,
    )
    this.addSql(
      `alter table "interactions" add constraint "interactions_kind_check" check ("kind" in ('open', 'click', 'vote', 'rating', 'quiz', 'form', 'booking', 'purchase'))`,
    )
    this.addSql(`create index "interactions_project_index" on "interactions" ("account_id", "project_id", "id")`)
    this.addSql(`create index "interactions_email_index" on "interactions" ("account_id", "email")`)
    this.addSql(
      `create table "lead_scores" ("account_id" text collate "C" not null, "email" text collate "C" not null, "points" double precision not null, "at" timestamptz not null, "is_hot" boolean not null, primary key ("account_id", "email"))`,
    )
  }

  override down(): void {
    this.addSql(`drop table if exists "lead_scores" cascade`)
    this.addSql(`drop table if exists "interactions" cascade`)
  }
}
