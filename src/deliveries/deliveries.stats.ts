import { readDayCounts, sumCounts, tallying, utcDay } from '../store/tallies.ts'
import type { AccountSql } from '../store/work.ts'
import { probeType } from './deliveries.insert.ts'

/*
 * Deliveries by day, counted by the statement that records them. How long a delivery took, from its event to its success, is counted
 * in buckets of a logarithmic scale: each ends 10 % above the one before, so a time that is read from them is off by less than 5 %.
 */

const subject = 'deliveries'
const growth = 1.1
const bucketName = /^ms:(\d+)$/

/**
 * Returns the SQL that counts deliveries that have ended, in the same statement. `ended` has rows with `account_id`, `type`,
 * `status` and `created_at`; `clock` has one row with the time `now`.
 */
export const tallyingEnds = (ended: string, clock: string): string =>
  tallying(`select account_id, '${subject}', day, jsonb_object_agg(name, count) from (
       select e.account_id, ${utcDay(`${clock}.now`)} as day, case when e.status = 'exhausted' then 'exhausted'
           else 'ms:' || round(ln(greatest(extract(epoch from ${clock}.now - e.created_at) * 1000, 1)::float8) / ln(${growth}::float8))
         end as name, count(*) as count
       from ${ended} e, ${clock} where e.status in ('delivered', 'exhausted') and e.type <> '${probeType}' group by 1, 2, 3
     ) counted group by account_id, day`)

/** Deliveries that ended on a UTC day. */
interface DeliveryDay {
  /** `2026-11-23` */
  date: string
  delivered: number
  exhausted: number
}

/** Deliveries that ended in a period, and how long successful ones took, in ms. A time is null if there are none. */
interface DeliverySpan {
  delivered: number
  exhausted: number
  p50Ms: number | null
  p99Ms: number | null
  days: DeliveryDay[]
}

const bucketsOf = (counts: Readonly<Record<string, number>>): [bucket: number, count: number][] =>
  Object.entries(counts).flatMap(([name, count]) => {
    const bucket = bucketName.exec(name)?.[1]
    return bucket === undefined ? [] : [[Number(bucket), count] as [number, number]]
  })

const sum = (buckets: readonly (readonly [number, number])[]) => buckets.reduce((total, [, count]) => total + count, 0)

/** Returns the time in ms that `share` of the deliveries took at most, or null if there are none. */
const percentile = (buckets: readonly (readonly [number, number])[], share: number): number | null => {
  let left = Math.ceil(sum(buckets) * share)
  if (left === 0) return null
  for (const [bucket, count] of buckets.toSorted(([a], [b]) => a - b)) {
    left -= count
    if (left <= 0) return Math.round(growth ** bucket)
  }
  return null
}

/** Returns the account's deliveries that ended on the UTC day `from` (`2026-11-23`) or later. A replayed one counts each time it ends. */
export const deliveriesByDay = async (work: AccountSql, from: string): Promise<DeliverySpan> => {
  const days = await readDayCounts(work, subject, from)
  const all = bucketsOf(sumCounts(days))
  const of = ({ day, counts }: (typeof days)[number]): DeliveryDay => ({
    date: day,
    delivered: sum(bucketsOf(counts)),
    exhausted: counts.exhausted ?? 0,
  })
  const shown = days.map(of)
  return {
    delivered: sum(all),
    exhausted: shown.reduce((total, { exhausted }) => total + exhausted, 0),
    p50Ms: percentile(all, 0.5),
    p99Ms: percentile(all, 0.99),
    days: shown,
  }
}
