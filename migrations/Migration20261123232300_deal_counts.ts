import { Migration } from '@mikro-orm/migrations'

/** Counts the existing deals, as deals.stats.ts counts new ones. When a deal became won or lost is in its history. */
export class Migration20261123232300_deal_counts extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`
      insert into day_counts (account_id, subject, day, counts)
      select account_id, 'deals', day, jsonb_object_agg(name, count) from (
        select account_id, day, name, sum(count)::bigint as count from (
          select d.account_id, (d.created_at at time zone 'UTC')::date as day, n.name, n.count
          from deals d cross join lateral (values
            ('open:' || d.currency, 1), ('value:' || d.currency, 100 * d.value)
          ) n (name, count) where d.status = 'open'
          union all
          select h.account_id, (h.at at time zone 'UTC')::date, s.kind, 1
          from deal_history h join stages s on s.account_id = h.account_id and s.id = h.to_stage_id
          left join stages f on f.account_id = h.account_id and f.id = h.from_stage_id
          where s.kind <> 'open' and s.kind is distinct from f.kind
        ) n group by account_id, day, name having sum(count) <> 0
      ) counted group by account_id, day`)
  }

  override down(): void {
    this.addSql(`delete from day_counts where subject = 'deals'`)
    this.addSql(`delete from day_tallies where subject = 'deals'`)
  }
}
