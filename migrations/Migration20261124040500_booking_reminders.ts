import { Migration } from '@mikro-orm/migrations'

/** Schedules reminders of bookings, also of existing ones in the future, and stores the busy times of hosts. */
export class Migration20261124040500_booking_reminders extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table bookings add column remind_at timestamptz`)
    this.addSql(`create index bookings_remind_index on bookings (remind_at) where remind_at is not null`)
    this.addSql(`
      update bookings set remind_at = start_at - case when start_at > now() + interval '1 day' then interval '1 day' else interval '1 hour' end
      where status = 'confirmed' and start_at > now() + interval '1 hour' and email <> ''`)
    this.addSql(`
      create table busy_calendars (
        account_id text collate "C" not null,
        key text collate "C" not null,
        project_id text collate "C" not null,
        block_id text collate "C" not null,
        read_at timestamptz,
        fault text,
        busy jsonb not null,
        claimed_until timestamptz,
        primary key (account_id, key)
      )`)
  }

  override down(): void {
    this.addSql(`drop table busy_calendars`)
    this.addSql(`alter table bookings drop column remind_at`)
  }
}
