import { Migration } from '@mikro-orm/migrations'

/** Orders from checkout blocks, and the payment providers of accounts. Generated from the entities, then reviewed. */
export class Migration20261122170000_checkout extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `create table "payment_providers" ("account_id" text collate "C" not null, "provider" text not null, "sealed_key" text not null, "sealed_webhook_secret" text not null, "key_last4" text not null, "updated_at" timestamptz not null, primary key ("account_id"))`,
    )
    this.addSql(
      `alter table "payment_providers" add constraint "payment_providers_provider_check" check ("provider" in ('stripe'))`,
    )
    this.addSql(
      `create table "payment_orders" ("account_id" text collate "C" not null, "id" text collate "C" not null, "message_id" text collate "C" not null, "block_id" text collate "C" not null, "project_id" text collate "C" not null, "project_version" int not null, "email" text collate "C" not null, "currency" text not null, "amount" numeric(14,2) not null, "items" jsonb not null, "provider" text not null, "status" text not null, "session_id" text collate "C" null, "session_url" text null, "session_ends_at" timestamptz null, "created_at" timestamptz not null, "paid_at" timestamptz null, primary key ("account_id", "id"))`,
    )
    this.addSql(
      `alter table "payment_orders" add constraint "payment_orders_provider_check" check ("provider" in ('stripe', 'test'))`,
    )
    this.addSql(
      `alter table "payment_orders" add constraint "payment_orders_status_check" check ("status" in ('open', 'paid', 'expired'))`,
    )
    this.addSql(
      `create index "payment_orders_block_index" on "payment_orders" ("account_id", "message_id", "block_id")`,
    )
    this.addSql(
      `create unique index "payment_orders_open_index" on "payment_orders" ("account_id", "message_id", "block_id") where "status" = 'open'`,
    )
    this.addSql(
      `create unique index "payment_orders_session_index" on "payment_orders" ("account_id", "session_id") where "session_id" is not null`,
    )
    this.addSql(`create index "payment_orders_email_index" on "payment_orders" ("account_id", "email")`)
  }

  override down(): void {
    this.addSql(`drop table if exists "payment_orders" cascade`)
    this.addSql(`drop table if exists "payment_providers" cascade`)
  }
}
