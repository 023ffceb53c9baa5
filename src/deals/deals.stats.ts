import { readDayCounts, sumCounts, tallying, utcDay } from '../store/tallies.ts'
import type { AccountSql } from '../store/work.ts'

/*
 * Deals by day, counted by each statement that writes them: how many became won and lost, and by how much the number and the value of
 * open deals changed, for each currency. The sums over all days are the current number and value.
 */

const subject = 'deals'

/**
 * Returns the SQL that counts changes of deals, in the same statement. `changes` selects the status, currency and value of each
 * deal before and after; they are null before its creation and after its deletion. The parameters are `:accountId` and `:now`.
 */
export const tallyingDeals = (changes: string): string =>
  tallying(`select :accountId, '${subject}', ${utcDay(':now::timestamptz')}, jsonb_object_agg(name, count) from (
       select n.name, sum(n.count)::bigint as count from (${changes}) c (status0, currency0, value0, status, currency, value)
       cross join lateral (values
         ('open:' || currency0, case when status0 = 'open' then -1 end),
         ('open:' || currency, case when status = 'open' then 1 end),
         ('value:' || currency0, case when status0 = 'open' then -100 * value0::numeric end),
         ('value:' || currency, case when status = 'open' then 100 * value::numeric end),
         (status, case when status <> 'open' and status is distinct from status0 then 1 end)
       ) n (name, count)
       group by n.name having sum(n.count) <> 0
     ) counted having count(*) > 0`)

/** Deals that became won and lost on a UTC day. */
interface DealDay {
  /** `2026-11-23` */
  date: string
  won: number
  lost: number
}

interface DealSpan {
  /** Deals that are open now. */
  open: number
  /** Deals that became won and lost in the period. */
  won: number
  lost: number
  /** The sum of the open deals by currency. */
  value: Record<string, number>
  days: DealDay[]
}

const named = (counts: Readonly<Record<string, number>>, kind: string): [currency: string, count: number][] =>
  Object.entries(counts).flatMap(([name, count]) =>
    name.startsWith(`${kind}:`) && count !== 0 ? [[name.slice(kind.length + 1), count] as [string, number]] : [],
  )

/**
 * Returns how many deals the account has open now, their value, and how many became won and lost on the UTC day `from` (`2026-11-23`) or
 * later. A deal that becomes won twice counts twice.
 */
export const dealsByDay = async (work: AccountSql, from: string): Promise<DealSpan> => {
  const all = await readDayCounts(work, subject, null)
  const sums = sumCounts(all)
  const days = all
    .filter(({ day }) => day >= from)
    .map(({ day, counts }) => ({ date: day, won: counts.won ?? 0, lost: counts.lost ?? 0 }))
    .filter(({ won, lost }) => won + lost > 0)
  const total = (name: 'won' | 'lost') => days.reduce((sum, day) => sum + day[name], 0)
  const open = named(sums, 'open').sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    open: open.reduce((sum, [, count]) => sum + count, 0),
    won: total('won'),
    lost: total('lost'),
    value: Object.fromEntries(open.map(([currency]) => [currency, (sums[`value:${currency}`] ?? 0) / 100])),
    days,
  }
}
