import { dateOf, datesBetween } from '../lib/days.ts'
import { type RowOf, typed } from '../store/column-types.ts'
import { statement } from '../store/statement.ts'
import type { AccountSql } from '../store/work.ts'
import { type MessageMetric, type PersonMetric, personMetrics } from './results.rows.ts'

type Metric = MessageMetric | PersonMetric
type Numbers = Record<Metric | 'delivered', number>

/** The results of email (docs/reference/results.md). Each number is the sum over the days. */
export interface MailStats extends Numbers {
  /** The links that people clicked, most clicks first. `url` is as its author wrote it. */
  links: { url: string; clicks: number; people: number }[]
  /** All UTC days (`YYYY-MM-DD`) from the first one with a number, or of the period, to the last one. */
  days: ({ date: string } & Numbers)[]
}

/** A number of a day, or of a link: then `day` is empty. */
const resultTypes = { day: 'text', metric: typed<Metric | 'clicks'>('text'), url: 'text', count: 'int8' } as const

type Result = RowOf<typeof resultTypes>

// A person counts on the first day of the period: `since` is the previous day on which the person was counted. The scopes of
// `message_people` from `first` to `last` say whether a person is counted already.
const readResults = statement(
  'read-results',
  {
    row: resultTypes,
    parameters: { accountId: 'text', scope: 'text', from: 'date', to: 'date', first: 'text', last: 'text' },
  },
  `with tail as materialized (
     select day, metric, email, url, count from message_result_changes
     where account_id = :accountId and (:scope = '' or project_id = :scope or cause = :scope)
       and day >= :from::date and day <= :to::date
   ), person as (
     select m.metric, l.link, max(l.url) as url, t.email, min(t.day) as day
     from tail t cross join lateral (values ('', ''), (md5(t.url), t.url)) l(link, url)
       cross join lateral (values (t.metric), (case when t.metric in ('clicked', 'answered') and l.link = '' then 'opened' end)) m(metric)
     where t.email <> '' and l.link is not null and m.metric is not null group by m.metric, l.link, t.email
   ), result as (
     select day, metric, link, url, count from message_results
     where account_id = :accountId and scope = :scope and day >= :from::date and day <= :to::date
       and (since = '-infinity' or since < :from::date)
     union all
     select day, metric, '', '', count from tail where email is null
     union all
     select day, 'clicks', md5(url), url, count from tail where url is not null
     union all
     select day, metric, link, url, 1 from person t where not exists (
       select from message_people p
       where p.account_id = :accountId and p.email = t.email and p.scope >= :first and p.scope <= :last and p.link = t.link
         and case t.metric ${personMetrics.map((metric) => `when '${metric}' then p.${metric}`).join(' ')} end is not null
     )
   )
   select case when link = '' then day::text else '' end as day, metric, max(url) as url, sum(count)::int8 as count from result
   group by case when link = '' then day::text else '' end, metric, link having sum(count) <> 0 order by 1`,
)

const zeros = (): Numbers => ({
  sent: 0,
  delivered: 0,
  opened: 0,
  clicked: 0,
  answered: 0,
  unsubscribed: 0,
  bounced: 0,
  complained: 0,
  failed: 0,
  cancelled: 0,
  suppressed: 0,
})

const add = (to: Numbers, metric: Metric, count: number): void => {
  to[metric] += count
  if (metric === 'sent') to.delivered += count
  if (metric === 'bounced') to.delivered -= count
}

const daysOf = (from: string | undefined, to: string | undefined): MailStats['days'] => {
  if (from === undefined || to === undefined) return []
  return datesBetween(from, to).map((date) => ({ date, ...zeros() }))
}

const statsOf = (rows: readonly Result[], from?: string, to?: string): MailStats => {
  const total = zeros()
  const dated = rows.filter(({ day }) => day !== '')
  const days = daysOf(from ?? dated[0]?.day, to ?? dated.at(-1)?.day)
  const byDate = new Map(days.map((day) => [day.date, day]))
  const links = new Map<string, MailStats['links'][number]>()
  for (const { day, metric, url, count } of rows) {
    if (day !== '' && metric !== 'clicks') {
      add(byDate.get(day)!, metric, count)
      add(total, metric, count)
    } else {
      const link = links.getOrInsertComputed(url, () => ({ url, clicks: 0, people: 0 }))
      link[metric === 'clicks' ? 'clicks' : 'people'] += count
    }
  }
  const clicked = [...links.values()].filter(({ clicks }) => clicks > 0)
  clicked.sort((a, b) => b.clicks - a.clicks || (a.url < b.url ? -1 : 1))
  return { ...total, links: clicked, days }
}

/** Returns the results of a project, a broadcast or a journey, by its id. All numbers of an unknown id are 0. */
export const resultsOf = async ({ sql, accountId }: AccountSql, id: string): Promise<MailStats> =>
  statsOf(await sql(readResults, { accountId, scope: id, from: '-infinity', to: 'infinity', first: id, last: id }))

/**
 * Returns the results of all emails of the account on the UTC days from that of `from` to that of `to`. A person counts on the first
 * of these days.
 */
export const mailStats = async (
  { sql, accountId }: AccountSql,
  { from, to }: { from: Date; to: Date },
): Promise<MailStats> => {
  const [first, last] = [dateOf(from.getTime()), dateOf(to.getTime())]
  return statsOf(await sql(readResults, { accountId, scope: '', from: first, to: last, first, last }), first, last)
}
