import { Migration } from '@mikro-orm/migrations'

/** Counts the existing addresses and suppressions, as contacts.stats.ts counts new ones. Addresses that were removed left no trace. */
export class Migration20261123233300_contact_counts extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`
      insert into day_counts (account_id, subject, day, counts)
      select account_id, 'contacts', day, jsonb_object_agg(name, count) from (
        select account_id, day, 'added' as name, count(*) as count from (
          select account_id, (min(created_at) at time zone 'UTC')::date as day from contacts group by account_id, row_id
        ) added group by account_id, day
        union all
        select account_id, day, case when before is null then 'left' else 'left:' || before end, count(*) from (
          select account_id, day, lag(day) over (partition by account_id, email order by day) as before from (
            select distinct s.account_id, s.email, (s.created_at at time zone 'UTC')::date as day
            from suppressions s join addresses a on a.account_id = s.account_id and a.email = s.email
            where s.topic_id = ''
          ) days
        ) departures group by 1, 2, 3
      ) counted group by account_id, day`)
  }

  override down(): void {
    this.addSql(`delete from day_counts where subject = 'contacts'`)
    this.addSql(`delete from day_tallies where subject = 'contacts'`)
  }
}
