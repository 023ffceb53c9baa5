import { Migration } from '@mikro-orm/migrations'

/** When the stored busy times were read: they stay while the file can't be read. */
export class Migration20261124092100_kept_busy_times extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table busy_calendars add column known_at timestamptz`)
  }

  override down(): void {
    this.addSql(`alter table busy_calendars drop column known_at`)
  }
}
