import { Migration } from '@mikro-orm/migrations'

/** Webinars and their registrations. Generated from the entities, then reviewed. */
export class Migration20261122130000_webinars extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `create table "webinars" ("account_id" text collate "C" not null, "id" text collate "C" not null, "title" text not null, "access_mode" text not null, "status" text not null, "scheduled_at" timestamptz null, "started_at" timestamptz null, "ended_at" timestamptz null, "course_id" text collate "C" null, "capacity" int null, "stream_url" text null, "registered_count" int not null, "waitlisted_count" int not null, "last_number" int not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("account_id", "id"))`,
    )
    this.addSql(
      `alter table "webinars" add constraint "webinars_access_mode_check" check ("access_mode" in ('registration', 'subscribers'))`,
    )
    this.addSql(
      `alter table "webinars" add constraint "webinars_status_check" check ("status" in ('scheduled', 'live', 'ended', 'cancelled'))`,
    )
    this.addSql(
      `create table "webinar_registrations" ("account_id" text collate "C" not null, "id" text collate "C" not null, "webinar_id" text collate "C" not null, "email" text collate "C" not null, "name" text not null, "status" text not null, "number" int not null, "remind_at" timestamptz null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("account_id", "id"))`,
    )
    this.addSql(
      `create unique index "webinar_registrations_email_index" on "webinar_registrations" ("account_id", "webinar_id", "email") where "status" <> 'cancelled' and "email" <> ''`,
    )
    this.addSql(
      `create index "webinar_registrations_waiting_index" on "webinar_registrations" ("account_id", "webinar_id", "number") where "status" = 'waitlisted'`,
    )
    this.addSql(
      `create index "webinar_registrations_remind_index" on "webinar_registrations" ("remind_at", "account_id", "webinar_id") where "remind_at" is not null`,
    )
    this.addSql(`create index "webinar_registrations_person_index" on "webinar_registrations" ("account_id", "email")`)
    this.addSql(
      `create index "webinar_registrations_number_index" on "webinar_registrations" ("account_id", "webinar_id", "number")`,
    )
    this.addSql(
      `alter table "webinar_registrations" add constraint "webinar_registrations_status_check" check ("status" in ('confirmed', 'waitlisted', 'cancelled'))`,
    )
  }

  override down(): void {
    this.addSql(`drop table if exists "webinar_registrations" cascade`)
    this.addSql(`drop table if exists "webinars" cascade`)
  }
}
