import { type MailStats, resultsOf } from '../../src/results/results.ts'
import type { TestApp } from './app.ts'

const day = (time: string) => `(${time} at time zone 'UTC')::date`
const cause = `case when m.key like 'broadcast:%' then split_part(m.key, ':', 2) when m.source_kind = 'journey' then m.source_id end`
const metrics = [
  ...(['sent', 'opened', 'clicked', 'answered', 'unsubscribed'] as const),
  ...(['bounced', 'complained', 'failed', 'suppressed'] as const),
]

interface Fact {
  day: string
  metric: string
  count: number
}

/**
 * Counts the results of an account's emails from messages, reports and interactions: `scope` null: of all, in the days from `from` to
 * `to`; otherwise of a project, broadcast or journey. `unsubscribed` is not counted.
 */
export const recount = async (
  { app }: Pick<TestApp, 'app'>,
  accountId: string,
  scope: string | null,
  [from, to]: readonly [string, string] = ['-infinity', 'infinity'],
): Promise<{ facts: Fact[]; links: { url: string; clicks: number; people: number }[] }> => {
  const inScope = `($2::text is null or m.project_id = $2 or ${cause} = $2)`
  const params = [accountId, scope, from, to]
  const facts = await app.sql<Fact>(
    `with fact as (
       select m.status as metric, ${day('m.finished_at')} as day, m.id as who from messages m
       where m.account_id = $1 and m.status <> 'pending' and ${inScope}
       union all
       select case r.kind when 'complaint' then 'complained' else 'bounced' end, ${day('min(r.created_at)')}, m.id
       from message_reports r join messages m on m.account_id = r.account_id and m.id = r.message_id
       where m.account_id = $1 and r.kind in ('hard', 'soft', 'complaint') and ${inScope} group by 1, m.id
       union all
       select metric, min(day), email from (
         select k.metric, i.email, ${day('i.at')} as day
         from interactions i join messages m on m.account_id = i.account_id and m.id = i.message_id
         cross join lateral (values ('opened', true), ('clicked', i.kind = 'click'), ('answered', i.kind not in ('open', 'click'))) k(metric, counts)
         where i.account_id = $1 and not i.is_bot and i.email <> '' and k.counts and ${inScope} and ${day('i.at')} between $3::date and $4::date
       ) p group by metric, email
     ) select metric, day::text as day, count(*)::int8 as count from fact where day between $3::date and $4::date group by 1, 2 order by 1, 2`,
    params,
  )
  const links = await app.sql<{ url: string; clicks: number; people: number }>(
    `select i.value #>> '{}' as url, count(*)::int8 as clicks, count(distinct nullif(i.email, ''))::int8 as people
     from interactions i join messages m on m.account_id = i.account_id and m.id = i.message_id
     where i.account_id = $1 and not i.is_bot and i.kind = 'click' and ${inScope} and ${day('i.at')} between $3::date and $4::date
     group by 1 order by 2 desc, 1`,
    params,
  )
  return { facts, links }
}

/** Returns results in the shape of `recount`. Fails if a total is not the sum of its days. */
export const factsOf = (stats: MailStats): Awaited<ReturnType<typeof recount>> => {
  for (const metric of [...metrics, 'delivered'] as const)
    if (stats[metric] !== stats.days.reduce((sum, one) => sum + one[metric], 0)) throw new Error(`${metric} is no sum`)
  if (stats.delivered !== stats.sent - stats.bounced) throw new Error('delivered is not sent - bounced')
  const facts = metrics
    .filter((metric) => metric !== 'unsubscribed')
    .toSorted()
    .flatMap((metric) =>
      stats.days.flatMap(({ date, [metric]: count }) => (count === 0 ? [] : [{ day: date, metric, count }])),
    )
  return { facts, links: stats.links }
}

/** Returns the results of a project, broadcast or journey. */
export const resultsIn = ({ app }: Pick<TestApp, 'app'>, accountId: string, scope: string): Promise<MailStats> =>
  app.work(accountId, 'cli:test', (work) => resultsOf(work, scope))
