import { Migration } from '@mikro-orm/migrations'

/** Counts the deliveries that have ended, as deliveries.stats.ts counts new ones. */
export class Migration20261123231300_delivery_counts extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`
      insert into day_counts (account_id, subject, day, counts)
      select account_id, 'deliveries', day, jsonb_object_agg(name, count) from (
        select account_id, (finished_at at time zone 'UTC')::date as day,
          case when status = 'exhausted' then 'exhausted'
            else 'ms:' || round(ln(greatest(extract(epoch from finished_at - created_at) * 1000, 1)::float8) / ln(1.1::float8))
          end as name, count(*) as count
        from ended_deliveries where status in ('delivered', 'exhausted') group by 1, 2, 3
      ) counted group by account_id, day`)
  }

  override down(): void {
    this.addSql(`delete from day_counts where subject = 'deliveries'`)
    this.addSql(`delete from day_tallies where subject = 'deliveries'`)
  }
}
