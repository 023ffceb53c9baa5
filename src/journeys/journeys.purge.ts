import { idAt } from '../lib/ids.ts'
import type { App } from '../store/work.ts'

// As deliveries are purged: ids are ordered by the time of entry, so old runs are the start of an account's part of the key.
const oldRuns = `
  with old as materialized (
    select r.account_id, r.id from accounts a cross join lateral (
      select account_id, id from journey_runs where account_id = a.id and id < $1 and ended_at < $2 order by id limit $3
    ) r limit $3
  ), logs as (
    delete from journey_step_log l using old where l.account_id = old.account_id and l.run_id = old.id
  ), gone as (
    delete from journey_runs r using old where r.account_id = old.account_id and r.id = old.id returning 1
  )
  select count(*) from gone`

// A version that still has runs is looked at again an hour later.
const oldVersions = `
  with looked as materialized (
    select v.account_id, v.journey_id, v.version, exists (
      select from journey_runs r where r.account_id = v.account_id and r.journey_id = v.journey_id and r.version = v.version
        and r.status in ('running', 'waiting')
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

/**
 * Deletes runs that ended before `before`, with their step logs, and versions that nobody enters any more and that have no
 * runs, in small batches until nothing is left or `signal` is aborted.
 */
export const purgeJourneys = async (
  { sql, now }: Pick<App, 'sql' | 'now'>,
  before: Date,
  signal?: AbortSignal,
  batchSize = 500,
): Promise<void> => {
  const sweep = async (statement: string, params: unknown[]) => {
    for (let count = 1; count > 0 && !signal?.aborted; ) {
      count = (await sql<{ count: number }>(statement, params))[0]!.count
    }
  }
  await sweep(oldRuns, [idAt('run', before.getTime()), before, batchSize])
  await sweep(oldVersions, [now(), batchSize])
}
