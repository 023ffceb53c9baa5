import { defineJob, inBatches, type Sweep } from './background.ts'
import { typed } from './column-types.ts'
import { statement } from './statement.ts'
import type { AccountSql, App } from './work.ts'

/*
 * Counts by UTC day. A statement that changes something inserts a row with what it has changed (`tallying`); the housekeeping adds these
 * rows up, one row for each subject and day. Readers add both, so a count includes every committed change. Names and subjects belong
 * to the feature that counts; a subject is the feature's name, or the id of one of its objects.
 */

/** Returns the SQL expression of the UTC day of a time. */
export const utcDay = (at: string): string => `(${at} at time zone 'UTC')::date`

/**
 * Returns the SQL that adds to the counts of days. `rows` selects account, subject, day and the counts: JSON with a number for
 * each name.
 */
export const tallying = (rows: string): string => `insert into day_tallies (account_id, subject, day, counts) ${rows}`

interface DayCounts {
  /** `2026-11-23` */
  day: string
  counts: Readonly<Record<string, number>>
}

const readTallies = statement(
  'read-day-counts',
  {
    row: { day: 'text', counts: typed<Readonly<Record<string, number>>>('jsonb') },
    parameters: { accountId: 'text', subject: 'text', from: 'date?' },
  },
  `select day::text, jsonb_object_agg(name, count) as counts from (
     select d.day, e.key as name, sum(e.value::bigint) as count from (
       select day, counts from day_counts where account_id = :accountId and subject = :subject and (:from::date is null or day >= :from)
       union all
       select day, counts from day_tallies where account_id = :accountId and subject = :subject and (:from::date is null or day >= :from)
     ) d cross join lateral jsonb_each_text(d.counts) e
     group by d.day, e.key
   ) c where count <> 0 group by day order by day`,
)

/**
 * Returns the counts of a subject by day, from a UTC day such as `2026-11-23` on, or all if it is null. Days without counts are left
 * out.
 */
export const readDayCounts = (
  { sql, accountId }: AccountSql,
  subject: string,
  from: string | null,
): Promise<DayCounts[]> => sql(readTallies, { accountId, subject, from })

/** Returns the sums over days. */
export const sumCounts = (days: readonly DayCounts[]): Record<string, number> => {
  const sums: Record<string, number> = {}
  for (const { counts } of days)
    for (const [name, count] of Object.entries(counts)) sums[name] = (sums[name] ?? 0) + count
  return sums
}

const forgetDayTallies = statement(
  'forget-day-tallies',
  { parameters: { accountId: 'text', subject: 'text' } },
  'delete from day_tallies where account_id = :accountId and subject = :subject',
)

const forgetDayCounts = statement(
  'forget-day-counts',
  { parameters: { accountId: 'text', subject: 'text' } },
  'delete from day_counts where account_id = :accountId and subject = :subject',
)

/** Deletes the counts of a subject that is deleted. */
export const forgetCounts = async ({ sql, accountId }: AccountSql, subject: string): Promise<void> => {
  // In this order, as `addUpTallies` locks them. The second statement sees the rows that the first one has waited for.
  await sql(forgetDayTallies, { accountId, subject })
  await sql(forgetDayCounts, { accountId, subject })
}

// Accounts that are being deleted are skipped: no new rows may appear in them.
const addUpBatch = statement(
  'add-up-tallies',
  { row: { tallies: 'int8' }, parameters: { size: 'int8', only: 'text?' } },
  `with taken as (
     delete from day_tallies where ctid = any(array(
       select ctid from day_tallies where (:only::text is null or account_id = :only) and account_works(account_id)
       limit :size for update skip locked
     )) returning account_id, subject, day, counts
   ), summed as (
     select account_id, subject, day, jsonb_object_agg(name, count) as counts from (
       select t.account_id, t.subject, t.day, e.key as name, sum(e.value::bigint) as count
       from taken t cross join lateral jsonb_each_text(t.counts) e
       group by t.account_id, t.subject, t.day, e.key
     ) n group by account_id, subject, day
   ), added as (
     insert into day_counts as d (account_id, subject, day, counts)
     select account_id, subject, day, counts from summed order by account_id, subject, day
     on conflict (account_id, subject, day) do update set counts = svc_add_counts(d.counts, excluded.counts)
   )
   select count(*) as tallies from taken`,
)

/** Adds up the rows that statements have inserted. */
export const addUpTallies = (
  { sql }: Pick<App, 'sql'>,
  { signal, batchSize = 5000, only = null }: Sweep = {},
): Promise<number> =>
  inBatches(batchSize, async () => (await sql(addUpBatch, { size: batchSize, only }))[0]!.tallies, signal)

export const jobs = [
  defineJob('tallies', {
    does: 'Adds up counts (store/tallies.ts), to one row for each day',
    runFor: addUpTallies,
  }),
]
