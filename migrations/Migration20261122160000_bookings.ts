import { Migration } from '@mikro-orm/migrations'

/** Bookings with their calendars, and calendar entries in emails. Generated from the entities, then reviewed. */
export class Migration20261122160000_bookings extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table "messages" add column "calendar" text null`)
    this.addSql(
      `create table "bookings" ("account_id" text collate "C" not null, "id" text collate "C" not null, "project_id" text collate "C" not null, "message_id" text collate "C" not null, "block_id" text collate "C" not null, "status" text not null, "title" text not null, "start_at" timestamptz not null, "end_at" timestamptz not null, "timezone" text not null, "name" text not null, "email" text collate "C" not null, "sequence" int not null, "cancelled_by" text null, "reason" text null, "cancelled_at" timestamptz null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("account_id", "id"))`,
    )
    this.addSql(
      `create unique index "bookings_answer_index" on "bookings" ("account_id", "message_id", "block_id") where "status" = 'confirmed'`,
    )
    this.addSql(`create index "bookings_start_index" on "bookings" ("account_id", "start_at", "id")`)
    this.addSql(`create index "bookings_email_index" on "bookings" ("account_id", "email", "id")`)
    this.addSql(
      `alter table "bookings" add constraint "bookings_status_check" check ("status" in ('confirmed', 'cancelled'))`,
    )
    this.addSql(
      `alter table "bookings" add constraint "bookings_cancelled_by_check" check ("cancelled_by" in ('attendee', 'host'))`,
    )
    this.addSql(
      `create table "booking_slots" ("account_id" text collate "C" not null, "project_id" text collate "C" not null, "block_id" text collate "C" not null, "start_at" timestamptz not null, "booking_id" text collate "C" not null, primary key ("account_id", "project_id", "block_id", "start_at"))`,
    )
  }

  override down(): void {
    this.addSql(`drop table if exists "booking_slots" cascade`)
    this.addSql(`drop table if exists "bookings" cascade`)
    this.addSql(`alter table "messages" drop column "calendar"`)
  }
}
