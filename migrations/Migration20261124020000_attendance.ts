import { Migration } from '@mikro-orm/migrations'

const checkEvents = (events: string) =>
  `alter table "lifecycle_bindings" drop constraint "lifecycle_bindings_event_check",
     add constraint "lifecycle_bindings_event_check" check ("event" in (${events}))`

/** Registrations know when their person was present, and emails can be bound to who attended and who missed a webinar. */
export class Migration20261124020000_attendance extends Migration {
  static readonly change = 'contract'

  override up(): void {
    this.addSql(`alter table "webinar_registrations" add "seen" tstzmultirange null, add "attended" boolean null`)
    this.addSql(checkEvents(`'enrolled', 'completed', 'registered', 'reminder', 'attended', 'missed'`))
  }

  override down(): void {
    this.addSql(`delete from "lifecycle_bindings" where "event" in ('attended', 'missed')`)
    this.addSql(checkEvents(`'enrolled', 'completed', 'registered', 'reminder'`))
    this.addSql(`alter table "webinar_registrations" drop column "seen", drop column "attended"`)
  }
}
