import { Migration } from '@mikro-orm/migrations'

/**
 * Accounts, contacts and webhooks. Generated from the entities, then reviewed. By hand: `rate_windows` is unlogged (after a
 * crash the windows only start again), `account_lives` (now `account_guard`) guards units of work (store/account-guard.ts),
 * `pending_deliveries` has a fill factor so that a claim updates no index, the view `deliveries` combines pending and ended
 * deliveries (one whose target is not active is shown as cancelled even before it is moved), and the plans are seeded. Ids and
 * addresses use `collate "C"` in every locale: ids page by their time part, and byte order is the fastest.
 */
export class Migration20261121130000_foundation extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `create table "access_log" ("account_id" text collate "C" not null, "id" text collate "C" not null, "at" timestamptz not null, "actor" text not null, "email" text collate "C" not null, "list_id" text collate "C" null, "found" int not null, primary key ("account_id", "id"))`,
    )
    this.addSql(
      `create table "accounts" ("id" text collate "C" not null, "name" text not null, "slug" text null, "plan" text not null, "contact_count" int not null default 0, "created_at" timestamptz not null, "deleted_at" timestamptz null, primary key ("id"))`,
    )
    this.addSql(`create index "accounts_deleted_index" on "accounts" ("id") where "deleted_at" is not null`)
    this.addSql(`alter table "accounts" add constraint "accounts_name_unique" unique ("name")`)
    this.addSql(`alter table "accounts" add constraint "accounts_slug_unique" unique ("slug")`)
    this.addSql(
      `create table "addresses" ("account_id" text collate "C" not null, "email" text collate "C" not null, "row_id" text collate "C" not null, "domain" text collate "C" not null, "verification_status" text null, "verification_reasons" text[] null, "verified_at" timestamptz null, primary key ("account_id", "email"))`,
    )
    this.addSql(
      `create index "addresses_unknown_domain_index" on "addresses" ("domain") where "verification_status" = 'unknown'`,
    )
    this.addSql(
      `alter table "addresses" add constraint "addresses_verification_status_check" check ("verification_status" in ('valid', 'risky', 'invalid', 'unknown'))`,
    )
    this.addSql(
      `create table "api_keys" ("id" text collate "C" not null, "account_id" text collate "C" not null, "name" text not null, "hash" text collate "C" not null, "prefix" text not null, "last_four" text not null, "created_at" timestamptz not null, "revoked_at" timestamptz null, primary key ("id"))`,
    )
    this.addSql(`alter table "api_keys" add constraint "api_keys_hash_unique" unique ("hash")`)
    this.addSql(`create index "api_keys_account_id_id_index" on "api_keys" ("account_id", "id")`)
    this.addSql(
      `create table "contact_lists" ("id" text collate "C" not null, "account_id" text collate "C" not null, "name" text not null, "fields" text[] not null, "row_count" int not null default 0, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"))`,
    )
    this.addSql(
      `alter table "contact_lists" add constraint "contact_lists_account_id_name_unique" unique ("account_id", "name")`,
    )
    this.addSql(
      `create table "contacts" ("account_id" text collate "C" not null, "row_id" text collate "C" not null, "list_id" text collate "C" not null, "email" text collate "C" not null, "fields" jsonb not null, "status" text not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("account_id", "row_id", "list_id"))`,
    )
    this.addSql(`alter table "contacts" add constraint "contacts_list_id_row_id_unique" unique ("list_id", "row_id")`)
    this.addSql(
      `alter table "contacts" add constraint "contacts_status_check" check ("status" in ('active', 'pending'))`,
    )
    this.addSql(
      `create table "delivery_targets" ("id" text collate "C" not null, "account_id" text collate "C" not null, "kind" text not null, "owner_id" text collate "C" null, "url" text not null, "sealed_secret" text null, "status" text not null, "disabled_reason" text null, "next_due_at" timestamptz null, "touched" int not null default 0, "timeouts" int not null default 0, "quiet_until" timestamptz null, "last_delivery_at" timestamptz null, "last_failure_at" timestamptz null, "last_error" text null, "created_at" timestamptz not null, primary key ("id")) with (fillfactor = 70)`,
    )
    this.addSql(`create index "delivery_targets_account_id_id_index" on "delivery_targets" ("account_id", "id")`)
    this.addSql(
      `create index "delivery_targets_due_index" on "delivery_targets" ("next_due_at") where "status" = 'active' and "next_due_at" is not null`,
    )
    this.addSql(
      `alter table "delivery_targets" add constraint "delivery_targets_kind_check" check ("kind" in ('subscription', 'project', 'journey'))`,
    )
    this.addSql(
      `alter table "delivery_targets" add constraint "delivery_targets_status_check" check ("status" in ('active', 'disabled', 'deleted'))`,
    )
    this.addSql(
      `create index "delivery_targets_ended_index" on "delivery_targets" ("account_id", "id") where "status" <> 'active'`,
    )
    this.addSql(
      `alter table "delivery_targets" add constraint "delivery_targets_disabled_reason_check" check ("disabled_reason" in ('gone', 'api-key-revoked'))`,
    )
    this.addSql(
      `create table "pending_deliveries" ("account_id" text collate "C" not null, "id" text collate "C" not null, "target_id" text collate "C" not null, "key" text collate "C" not null, "type" text not null, "body" text null, "tries" int not null default 0, "claim" int not null default 0, "attempts" jsonb not null default '[]', "created_at" timestamptz not null, "bytes" int not null, "due_at" timestamptz not null, "worker" int null, primary key ("account_id", "id")) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 2000)`,
    )
    this.addSql(`create index "pending_deliveries_due_index" on "pending_deliveries" ("target_id", "due_at")`)
    this.addSql(
      `create table "ended_deliveries" ("account_id" text collate "C" not null, "id" text collate "C" not null, "target_id" text collate "C" not null, "key" text collate "C" not null, "type" text not null, "body" text null, "status" text not null, "tries" int not null default 0, "claim" int not null default 0, "attempts" jsonb not null default '[]', "created_at" timestamptz not null, "finished_at" timestamptz not null, primary key ("account_id", "id"))`,
    )
    this.addSql(
      `create index "ended_deliveries_account_id_target_id_status_id_index" on "ended_deliveries" ("account_id", "target_id", "status", "id")`,
    )
    this.addSql(
      `create index "ended_deliveries_rare_index" on "ended_deliveries" ("account_id", "status", "id") where "status" <> 'delivered'`,
    )
    this.addSql(
      `alter table "ended_deliveries" add constraint "ended_deliveries_status_check" check ("status" in ('delivered', 'exhausted', 'cancelled'))`,
    )
    this.addSql(`create view "deliveries" as
      select p.account_id, p.id, p.target_id, p.key, p.type, p.body, case when exists (
          select from delivery_targets t where t.id = p.target_id and t.status = 'active'
        ) then 'pending' else 'cancelled' end as status,
        p.tries, p.claim, p.attempts, p.created_at, p.due_at, p.worker, null::timestamptz as finished_at
      from pending_deliveries p
      union all
      select account_id, id, target_id, key, type, body, status, tries, claim, attempts, created_at, null, null, finished_at
      from ended_deliveries`)
    this.addSql(
      `create table "events" ("account_id" text collate "C" not null, "id" text collate "C" not null, "type" text not null, "payload" text not null, "created_at" timestamptz not null, primary key ("account_id", "id"))`,
    )
    this.addSql(
      `create table "imports" ("id" text collate "C" not null, "account_id" text collate "C" not null, "list_id" text collate "C" not null, "file" text not null, "file_sha256" text null, "options" jsonb not null, "status" text not null, "rows_done" int not null default 0, "created" int not null default 0, "updated" int not null default 0, "unchanged" int not null default 0, "skipped" int not null default 0, "rejected" int not null default 0, "started_at" timestamptz not null, "finished_at" timestamptz null, primary key ("id"))`,
    )
    this.addSql(`create index "imports_account_id_id_index" on "imports" ("account_id", "id")`)
    this.addSql(`alter table "imports" add constraint "imports_status_check" check ("status" in ('running', 'done'))`)
    this.addSql(
      `create table "import_rejects" ("account_id" text collate "C" not null, "import_id" text collate "C" not null, "line" int not null, "email" text collate "C" not null, "reason" text not null, primary key ("account_id", "import_id", "line"))`,
    )
    this.addSql(
      `create table "installation" ("id" int not null, "secret_fingerprint" text not null, primary key ("id"))`,
    )
    this.addSql(
      `create table "mail_domains" ("domain" text collate "C" not null, "finding" text not null, "expires_at" timestamptz not null, primary key ("domain"))`,
    )
    this.addSql(
      `alter table "mail_domains" add constraint "mail_domains_finding_check" check ("finding" in ('mx', 'null_mx', 'no_mx', 'domain_not_found', 'timeout', 'error'))`,
    )
    this.addSql(
      `create table "plans" ("name" text not null, "position" int not null, "contacts" int null, "sends" int null, "send_api_calls" int null, "embed_api" int null, "broadcast_minutes" int null, "webinar_courses" boolean not null, primary key ("name"))`,
    )
    this.addSql(
      `create table "quota_uses" ("account_id" text collate "C" not null, "quota" text not null, "month" date not null, "used" int not null, primary key ("account_id", "quota", "month"))`,
    )
    this.addSql(
      `create unlogged table "rate_windows" ("key_id" text collate "C" not null, "family" text not null, "started_at" timestamptz not null, "used" int not null, primary key ("key_id", "family"))`,
    )
    this.addSql(
      `create table "webhooks" ("id" text collate "C" not null, "account_id" text collate "C" not null, "api_key_id" text collate "C" null, "events" text[] not null, "created_via" text not null, "temporary" boolean not null default false, "created_at" timestamptz not null, primary key ("id"))`,
    )
    this.addSql(`create index "webhooks_account_id_id_index" on "webhooks" ("account_id", "id")`)
    this.addSql(`create index "webhooks_api_key_id_index" on "webhooks" ("api_key_id")`)
    this.addSql(
      `alter table "webhooks" add constraint "webhooks_created_via_check" check ("created_via" in ('dashboard', 'api', 'connector_a', 'connector_b'))`,
    )
    this.addSql(`create table "workers" ("id" serial primary key, "job" text not null, "seen_at" timestamptz not null)`)
    this.addSql(
      `create function account_lives(id text) returns boolean language plpgsql as $$
       begin
         perform pg_advisory_xact_lock_shared(hashtextextended(id, 0));
         return exists (select from accounts a where a.id = account_lives.id and a.deleted_at is null);
       end $$`,
    )
    this.addSql(`insert into plans (name, position, contacts, sends, send_api_calls, embed_api, broadcast_minutes, webinar_courses) values
      ('free', 1, 1000, 2000, 500, 0, 0, false),
      ('starter', 2, 5000, 25000, 10000, 0, 60, false),
      ('pro', 3, 25000, 250000, 100000, 5000, 3000, true),
      ('business', 4, 100000, 1000000, 1000000, 50000, 20000, true),
      ('unlimited', 5, null, null, null, null, null, true)`)
  }

  override down(): void {
    this.addSql(`drop function if exists account_lives`)
    this.addSql(`drop table if exists "webhooks" cascade`)
    this.addSql(`drop table if exists "rate_windows" cascade`)
    this.addSql(`drop table if exists "quota_uses" cascade`)
    this.addSql(`drop table if exists "plans" cascade`)
    this.addSql(`drop table if exists "mail_domains" cascade`)
    this.addSql(`drop table if exists "installation" cascade`)
    this.addSql(`drop table if exists "import_rejects" cascade`)
    this.addSql(`drop table if exists "imports" cascade`)
    this.addSql(`drop table if exists "events" cascade`)
    this.addSql(`drop view if exists "deliveries"`)
    this.addSql(`drop table if exists "workers" cascade`)
    this.addSql(`drop table if exists "ended_deliveries" cascade`)
    this.addSql(`drop table if exists "pending_deliveries" cascade`)
    this.addSql(`drop table if exists "delivery_targets" cascade`)
    this.addSql(`drop table if exists "contacts" cascade`)
    this.addSql(`drop table if exists "contact_lists" cascade`)
    this.addSql(`drop table if exists "api_keys" cascade`)
    this.addSql(`drop table if exists "addresses" cascade`)
    this.addSql(`drop table if exists "accounts" cascade`)
    this.addSql(`drop table if exists "access_log" cascade`)
  }
}
