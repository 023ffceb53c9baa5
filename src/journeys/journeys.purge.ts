import { inBatches } from '../store/batches.ts'
import type { App } from '../store/work.ts'

// The statement that deletes a run remembers its contact, so that at any moment an entry sees one of the two. Whatever rule the
// journey has: its next version may have another. The contact of an erased address is not remembered, nor one of a list or an
// account that is being deleted.
const oldRuns = `
  with old as materialized (
    select ctid as row, account_id, id, journey_id, list_id, row_id, email from journey_runs
    where ended_at < $1 order by ended_at limit $2 for update skip locked
  ), living as materialized (
    select account_id from (select distinct account_id from old) a where account_lives(account_id)
  ), remembered as (
    insert into past_entries (account_id, list_id, row_id, journey_id)
    select distinct o.account_id, o.list_id, o.row_id, o.journey_id from old o join living l on l.account_id = o.account_id
    where exists (select from contact_lists where id = o.list_id offset 0)
      and exists (select from addresses where account_id = o.account_id and email = o.email and row_id = o.row_id offset 0)
    order by 1, 2, 3, 4 on conflict do nothing
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
 * Deletes runs that ended before `before`, with their step logs, and remembers which contacts have been in which journeys. In small batches with rests until nothing is left or
 * `signal` is aborted. Returns how many runs were deleted.
 */
export const purgeRuns = ({ sql }: Pick<App, 'sql'>, before: Date, signal?: AbortSignal, batchSize = 500) =>
  inBatches(batchSize, () => counted(sql(oldRuns, [before, batchSize])), signal)

/** Deletes versions that contacts no longer enter and that have no open runs, with their exit rules. */
export const purgeVersions = ({ sql, now }: Pick<App, 'sql' | 'now'>, signal?: AbortSignal, batchSize = 500) =>
  inBatches(batchSize, () => counted(sql(oldVersions, [now(), batchSize])), signal)
