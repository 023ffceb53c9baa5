import { Migration } from '@mikro-orm/migrations'

/** Topics of marketing email; a suppression may be for one of them. */
export class Migration20261123230100_topics extends Migration {
  static readonly change = 'contract'

  override up(): void {
    this.addSql(
      `create table "topics" ("id" text collate "C" not null, "account_id" text collate "C" not null, "name" text not null, "description" text not null, "created_at" timestamptz not null, "deleted_at" timestamptz null, primary key ("id"))`,
    )
    this.addSql(`create unique index "topics_name_index" on "topics" ("account_id", "name") where "deleted_at" is null`)
    this.addSql(`create index "topics_deleted_index" on "topics" ("deleted_at") where "deleted_at" is not null`)
    this.addSql(`alter table "suppressions" add column "topic_id" text collate "C" not null default ''`)
    this.addSql(`alter table "suppressions" drop constraint "suppressions_pkey"`)
    this.addSql(`alter table "suppressions" add primary key ("account_id", "email", "reason", "topic_id")`)
    this.addSql(
      `create index "suppressions_topic_index" on "suppressions" ("account_id", "topic_id") where "topic_id" <> ''`,
    )
    this.addSql(`alter table "messages" add column "topic_id" text collate "C" null`)
    this.addSql(`alter table "broadcasts" add column "topic_id" text collate "C" null`)
  }

  override down(): void {
    this.addSql(`alter table "broadcasts" drop column "topic_id"`)
    this.addSql(`alter table "messages" drop column "topic_id"`)
    this.addSql(`drop index "suppressions_topic_index"`)
    this.addSql(`delete from "suppressions" where "topic_id" <> ''`)
    this.addSql(`alter table "suppressions" drop constraint "suppressions_pkey"`)
    this.addSql(`alter table "suppressions" add primary key ("account_id", "email", "reason")`)
    this.addSql(`alter table "suppressions" drop column "topic_id"`)
    this.addSql(`drop table if exists "topics" cascade`)
  }
}
