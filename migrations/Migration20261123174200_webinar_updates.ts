import { Migration } from '@mikro-orm/migrations'

/** A webinar counts its new times, for calendars and emails, and has the URL of its recording. */
export class Migration20261123174200_webinar_updates extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table "webinars" add "replay_url" text null, add "sequence" int not null default 0`)
  }

  override down(): void {
    this.addSql(`alter table "webinars" drop column "replay_url", drop column "sequence"`)
  }
}
