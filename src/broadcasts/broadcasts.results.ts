import { type MailStats, resultsOf } from '../results/results.ts'
import { statement } from '../store/statement.ts'
import type { AccountSql } from '../store/work.ts'

const parts = ['opened', 'clicked', 'answered', 'unsubscribed', 'bounced', 'complained'] as const

/** Parts of the delivered emails, but `bounced` of those that were sent. They are null if there are none. */
type Rates = Record<(typeof parts)[number], number | null>

/**
 * Results of a broadcast. `average` has the average rates of the `broadcasts` that were sent last before it, at most five. It is
 * null if there are none.
 */
interface BroadcastResults {
  stats: MailStats
  rates: Rates
  average: (Rates & { broadcasts: number }) | null
}

const ratesOf = (stats: MailStats): Rates => {
  const rate = (part: (typeof parts)[number]) => {
    const whole = part === 'bounced' ? stats.sent : stats.delivered
    return whole > 0 ? stats[part] / whole : null
  }
  return Object.fromEntries(parts.map((part) => [part, rate(part)])) as Rates
}

const mean = (values: readonly (number | null)[]): number | null => {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length
}

const readFormer = statement(
  'broadcasts-before',
  { row: { id: 'text' }, parameters: { accountId: 'text', id: 'text' } },
  `select b.id from broadcasts b
   where b.account_id = :accountId and b.id <> :id and b.started_at is not null and b.finished_at is not null and b.sent > 0
     and b.started_at < coalesce((select started_at from broadcasts where account_id = :accountId and id = :id), 'infinity')
   order by b.started_at desc, b.id desc limit 5`,
)

/** Returns the results of a broadcast (id), and the average of the last five before it that have ended. */
export const resultsOfBroadcast = async (work: AccountSql, id: string): Promise<BroadcastResults> => {
  const stats = await resultsOf(work, id)
  const former: Rates[] = []
  for (const { id: other } of await work.sql(readFormer, { accountId: work.accountId, id }))
    former.push(ratesOf(await resultsOf(work, other)))
  const average = Object.fromEntries(parts.map((part) => [part, mean(former.map((rates) => rates[part]))])) as Rates
  return {
    stats,
    rates: ratesOf(stats),
    average: former.length === 0 ? null : { broadcasts: former.length, ...average },
  }
}
