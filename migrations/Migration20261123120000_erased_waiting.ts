import { Migration } from '@mikro-orm/migrations'

/** Removes erased persons from waitlists and their counts. */
export class Migration20261123120000_erased_waiting extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `update "webinars" w set "waitlisted_count" = w."waitlisted_count" - r."count" from (
         select "account_id", "webinar_id", count(*)::int as "count" from "webinar_registrations"
         where "status" = 'waitlisted' and "email" = '' group by 1, 2
       ) r where w."account_id" = r."account_id" and w."id" = r."webinar_id"`,
    )
    this.addSql(
      `update "webinar_registrations" set "status" = 'cancelled' where "status" = 'waitlisted' and "email" = ''`,
    )
  }

  // Erased data can't be restored.
  override down(): void {}
}
