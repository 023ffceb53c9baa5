import { idAt } from '../lib/ids.ts'
import type { App } from '../store/work.ts'

/*
 * No index on a time is needed: ids are ordered by the time they were made, so each account's old rows are the start of its
 * part of the primary key. An event and its deliveries are made at one time, so theirs are to be looked for only there.
 */

const oldDeliveries = `
  with old as materialized (
    select d.account_id, d.id from accounts a cross join lateral (
      select account_id, id from ended_deliveries
      where account_id = a.id and id < $1 and finished_at < $2 order by id limit $3
    ) d limit $3
  ), gone as (
    delete from ended_deliveries d using old where d.account_id = old.account_id and d.id = old.id returning 1
  )
  select count(*) from gone`

const without = (table: string) => `not exists (
  select from ${table} d where d.account_id = a.id and d.key = events.id
    and d.id between 'dlv_' || substr(events.id, 5, 10) and 'dlv_' || substr(events.id, 5, 10) || 'zzzzzzzzzzzzzzzz'
)`

const oldEvents = `
  with old as materialized (
    select e.account_id, e.id from accounts a cross join lateral (
      select account_id, id from events
      where account_id = a.id and id < $1 and ${without('pending_deliveries')} and ${without('ended_deliveries')}
      order by id limit $2
    ) e limit $2
  ), gone as (
    delete from events e using old where e.account_id = old.account_id and e.id = old.id returning 1
  )
  select count(*) from gone`

// A call's target goes with the last delivery to it; that of a subscription, which was deleted in name, likewise.
const oldTargets = `
  delete from delivery_targets t where (t.status = 'deleted' or t.kind = 'journey') and t.created_at < $1
    and not exists (select from pending_deliveries d where d.target_id = t.id)
    and not exists (select from ended_deliveries d where d.account_id = t.account_id and d.target_id = t.id)`

/**
 * Deletes what was finished before `before`, deliveries first and then the events that no delivery is left of, in batches
 * until nothing is left or `signal` is aborted. Gives how many rows went.
 */
export const purgeDeliveries = async (
  { sql }: Pick<App, 'sql'>,
  before: Date,
  signal?: AbortSignal,
  batchSize = 1000,
): Promise<number> => {
  let total = 0
  const sweep = async (statement: string, params: unknown[]) => {
    for (let count = 1; count > 0 && !signal?.aborted; total += count) {
      count = (await sql<{ count: number }>(statement, params))[0]!.count
    }
  }
  await sweep(oldDeliveries, [idAt('dlv', before.getTime()), before, batchSize])
  await sweep(oldEvents, [idAt('evt', before.getTime()), batchSize])
  if (!signal?.aborted) await sql(oldTargets, [before])
  return total
}
