import { Migration } from '@mikro-orm/migrations'

/** Duration, time zone and description of webinars, for invitations and the page to register. */
export class Migration20261124092000_webinar_invitations extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table webinars add column duration_minutes int not null default 60, add column timezone text,
      add column description text not null default ''`)
  }

  override down(): void {
    this.addSql(`alter table webinars drop column duration_minutes, drop column timezone, drop column description`)
  }
}
