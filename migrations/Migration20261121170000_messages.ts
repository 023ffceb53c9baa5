import { Migration } from '@mikro-orm/migrations'

/**
 * Sending methods, suppressions, the messages and their queue. Generated from the entities, then reviewed. By hand: `messages`
 * and `message_queue` have a fill factor, so that claims and ends update no index.
 */
export class Migration20261121170000_messages extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `create table "relays" ("account_id" text collate "C" not null, "host" text not null, "port" int not null, "is_secure" boolean not null, "username" text null, "sealed_password" text null, "bounce_address" text null, "updated_at" timestamptz not null, primary key ("account_id"))`,
    )
    this.addSql(
      `create table "senders" ("id" text collate "C" not null, "account_id" text collate "C" not null, "email" text collate "C" not null, "name" text not null, "reply_to" text null, "is_default" boolean not null, "created_at" timestamptz not null, primary key ("id"))`,
    )
    this.addSql(`create unique index "senders_default_index" on "senders" ("account_id") where "is_default"`)
    this.addSql(`alter table "senders" add constraint "senders_account_id_email_unique" unique ("account_id", "email")`)
    this.addSql(
      `create table "domains" ("account_id" text collate "C" not null, "domain" text collate "C" not null, "status" text not null, "token" text not null, "public_key" text not null, "sealed_key" text not null, "found" text[] not null, "created_at" timestamptz not null, "checked_at" timestamptz null, primary key ("account_id", "domain"))`,
    )
    this.addSql(
      `alter table "domains" add constraint "domains_status_check" check ("status" in ('pending', 'verified'))`,
    )
    this.addSql(
      `create table "suppressions" ("account_id" text collate "C" not null, "email" text collate "C" not null, "reason" text not null, "created_at" timestamptz not null, primary key ("account_id", "email", "reason"))`,
    )
    this.addSql(
      `alter table "suppressions" add constraint "suppressions_reason_check" check ("reason" in ('complained', 'bounced', 'manual', 'unsubscribed'))`,
    )
    this.addSql(
      `create table "messages" ("account_id" text collate "C" not null, "id" text collate "C" not null, "key" text collate "C" null, "source_kind" text not null, "source_id" text null, "type" text not null, "email" text collate "C" not null, "from_email" text null, "from_name" text null, "reply_to" text null, "subject" text not null, "html" text null, "text" text null, "project_id" text null, "project_version" int null, "merge_data" jsonb null, "status" text not null, "reason" text null, "error" text null, "created_at" timestamptz not null, "finished_at" timestamptz null, primary key ("account_id", "id")) with (fillfactor = 70)`,
    )
    this.addSql(`create unique index "messages_key_index" on "messages" ("account_id", "key") where "key" is not null`)
    this.addSql(`create index "messages_email_index" on "messages" ("account_id", "email", "id")`)
    this.addSql(
      `alter table "messages" add constraint "messages_source_kind_check" check ("source_kind" in ('send', 'journey', 'lifecycle'))`,
    )
    this.addSql(
      `alter table "messages" add constraint "messages_type_check" check ("type" in ('transactional', 'marketing'))`,
    )
    this.addSql(
      `alter table "messages" add constraint "messages_status_check" check ("status" in ('pending', 'sent', 'failed', 'suppressed'))`,
    )
    this.addSql(
      `create table "message_queue" ("account_id" text collate "C" not null, "id" text collate "C" not null, "due_at" timestamptz not null, "worker" int null, "claim" int not null default 0, "is_handing" boolean not null default false, "tries" int not null default 0, "is_patient" boolean not null, primary key ("account_id", "id")) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 2000)`,
    )
    this.addSql(`create index "message_queue_due_index" on "message_queue" ("account_id", "due_at")`)
  }

  override down(): void {
    this.addSql(`drop table if exists "message_queue" cascade`)
    this.addSql(`drop table if exists "messages" cascade`)
    this.addSql(`drop table if exists "suppressions" cascade`)
    this.addSql(`drop table if exists "domains" cascade`)
    this.addSql(`drop table if exists "senders" cascade`)
    this.addSql(`drop table if exists "relays" cascade`)
  }
}
