import { Migration } from '@mikro-orm/migrations'

/** Bookings of a calendar can't overlap. Ended bookings don't block new ones. */
export class Migration20261123111000_booking_times extends Migration {
  static readonly change = 'contract'

  override up(): void {
    this.addSql(`alter table "booking_slots" add column "end_at" timestamptz null`)
    this.addSql(
      `update "booking_slots" s set "end_at" = b."end_at" from "bookings" b where b."account_id" = s."account_id" and b."id" = s."booking_id"`,
    )
    this.addSql(`delete from "booking_slots" where "end_at" is null`)
    this.addSql(`alter table "booking_slots" alter column "end_at" set not null`)
    this.addSql(`alter table "bookings" add column "is_replaced" boolean not null default false`)
    this.addSql(`drop index "bookings_answer_index"`)
    this.addSql(
      `create unique index "bookings_answer_index" on "bookings" ("account_id", "message_id", "block_id") where "status" = 'confirmed' and not "is_replaced"`,
    )
    this.addSql(
      `create index "bookings_block_index" on "bookings" ("account_id", "message_id", "block_id", "created_at")`,
    )
  }

  override down(): void {
    this.addSql(`drop index "bookings_block_index"`)
    this.addSql(`drop index "bookings_answer_index"`)
    this.addSql(
      `create unique index "bookings_answer_index" on "bookings" ("account_id", "message_id", "block_id") where "status" = 'confirmed'`,
    )
    this.addSql(`alter table "bookings" drop column "is_replaced"`)
    this.addSql(`alter table "booking_slots" drop column "end_at"`)
  }
}
