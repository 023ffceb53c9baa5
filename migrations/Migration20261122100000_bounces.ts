import { Migration } from '@mikro-orm/migrations'

/** Bounce and complaint reports, the mailboxes that receive them, and bounce counts per address. Generated from the entities, then reviewed. */
export class Migration20261122100000_bounces extends Migration {
  static readonly change = 'contract'

  override up(): void {
    this.addSql(`create unique index "messages_id_index" on "messages" ("id")`)
    this.addSql(
      `create table "message_reports" ("account_id" text collate "C" not null, "message_id" text collate "C" not null, "fingerprint" text collate "C" not null, "kind" text not null, "created_at" timestamptz not null, primary key ("account_id", "message_id", "fingerprint"))`,
    )
    this.addSql(
      `alter table "message_reports" add constraint "message_reports_kind_check" check ("kind" in ('hard', 'soft', 'delayed', 'complaint', 'other'))`,
    )
    this.addSql(
      `create table "bounce_mailboxes" ("account_id" text collate "C" not null, "host" text not null, "port" int not null, "is_secure" boolean not null, "username" text not null, "folder" text not null, "sealed_password" text null, "updated_at" timestamptz not null, "read_at" timestamptz null, "error" text null, primary key ("account_id"))`,
    )
    this.addSql(
      `create table "address_findings" ("account_id" text collate "C" not null, "email" text collate "C" not null, "finding" text not null, "created_at" timestamptz not null, primary key ("account_id", "email", "finding"))`,
    )
    this.addSql(
      `alter table "address_findings" add constraint "address_findings_finding_check" check ("finding" in ('hard_bounced', 'complained'))`,
    )
  }

  override down(): void {
    this.addSql(`drop table if exists "address_findings" cascade`)
    this.addSql(`drop table if exists "bounce_mailboxes" cascade`)
    this.addSql(`drop table if exists "message_reports" cascade`)
    this.addSql(`drop index if exists "messages_id_index"`)
  }
}
