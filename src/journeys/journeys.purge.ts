import { inBatches } from '../store/batches.ts'
import type { App } from '../store/work.ts'

const oldRuns = `
  with old as materialized (
    select ctid as row, account_id, id from journey_runs where ended_at < $1 order by ended_at limit $2
    for update skip locked
  ), logs as (
    delete from journey_step_log where ctid = any(array(
      select l.row from old cross join lateral (
        select ctid as row from journey_step_log where account_id = old.account_id and run_id = old.id offset 0
      ) l
    ))
  ), gone as (
    delete from journey_runs where ctid = any(array(select row from old)) returning 1
  )
  select count(*) from gone`

// A version that still has runs is looked at again an hour later. Until it was looked at first, an hour after the next version
// came, transactions may still enter contacts into it.
const oldVersions = `
  with looked as materialized (
    select v.account_id, v.journey_id, v.version, exists (
      select from journey_runs r where r.journey_id = v.journey_id and r.version = v.version
        and r.status in ('running', 'waiting') offset 0
    ) as is_used
    from (select * from journey_versions where look_at <= $1 order by look_at limit $2 for no key update skip locked) v
  ), later as (
    update journey_versions v set look_at = $1::timestamptz + interval '1 hour' from looked l
    where l.is_used and v.account_id = l.account_id and v.journey_id = l.journey_id and v.version = l.version
  ), exits as (
    delete from journey_exits x using looked l
    where not l.is_used and x.account_id = l.account_id and x.journey_id = l.journey_id and x.version = l.version
  ), gone as (
    delete from journey_versions v using looked l
    where not l.is_used and v.account_id = l.account_id and v.journey_id = l.journey_id and v.version = l.version
  )
  select count(*) from looked`

const counted = async (rows: Promise<{ count: number }[]>): Promise<number> => (await rows)[0]!.count

/**
 * Deletes runs that ended before `before`, with their step logs, in small batches with rests until nothing is left or
 * `signal` is aborted. Returns how many runs were deleted.
 */
export const purgeRuns = ({ sql }: Pick<App, 'sql'>, before: Date, signal?: AbortSignal, batchSize = 500) =>
  inBatches(batchSize, () => counted(sql(oldRuns, [before, batchSize])), signal)

/** Deletes versions that contacts no longer enter and that have no open runs, with their exit rules. */
export const purgeVersions = ({ sql, now }: Pick<App, 'sql' | 'now'>, signal?: AbortSignal, batchSize = 500) =>
  inBatches(batchSize, () => counted(sql(oldVersions, [now(), batchSize])), signal)
