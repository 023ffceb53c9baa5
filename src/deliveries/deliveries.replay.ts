import { idAt } from '../lib/ids.ts'
import { missing } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'
import { cancelled, lockTargets, tellEnded } from './deliveries.end.ts'
import { branchesOf, type DeliveryFilter, matching } from './deliveries.find.ts'
import { deliveriesChannel } from './deliveries.insert.ts'

/*
 * Bulk changes go through the matching deliveries in batches, oldest first, one transaction each: whoever calls repeats
 * with `next` until it is null. A run never meets a delivery that was made after its start.
 */

const batchSize = 2000

/** Where a run stands. */
export interface Run {
  startedAt: Date
  /** The id at which the batch before ended; absent at the start. */
  next?: string
  /** How many deliveries the batches before have changed. */
  changed: number
}

export interface Batch {
  matched: number
  changed: number
  /** null: there was nothing left. */
  next: string | null
}

/** How many deliveries match, and how many of them can't be replayed: their webhook is gone or disabled. */
export const countDeliveries = async (
  { sql, accountId }: Work,
  filter: DeliveryFilter,
): Promise<{ matched: number; leftOut: number }> => {
  const { conditions, params } = matching(accountId, filter)
  const branches = branchesOf(filter, conditions).map(
    (branch) => `select count(*) as matched, count(*) filter (where d.target_id not in (
       select id from delivery_targets where account_id = $1 and status = 'active')) as left_out from (${branch}) d`,
  )
  const [row] = await sql<{ matched: number; leftOut: number }>(
    `select sum(matched)::int8 as matched, sum(left_out)::int8 as "leftOut" from (${branches.join(' union all ')}) d`,
    params,
  )
  return row!
}

/** Throws `missing` for the first id that the account has no delivery of. */
export const demandDeliveries = async ({ sql, accountId }: Work, ids: readonly string[]): Promise<void> => {
  const [absent] = await sql<{ id: string }>(
    `select id from unnest($2::text[]) as given(id)
     where not exists (select from pending_deliveries d where d.account_id = $1 and d.id = given.id)
       and not exists (select from ended_deliveries d where d.account_id = $1 and d.id = given.id) limit 1`,
    [accountId, ids],
  )
  if (absent) throw missing(`There is no delivery ${absent.id}`, { hint: 'svc deliveries list' })
}

/** The next batch of a run: its oldest deliveries, locked. Targets are locked before, as wherever both are. */
const batchOf = (accountId: string, filter: DeliveryFilter, { startedAt, next = '' }: Run) => {
  const { conditions, params, bind } = matching(accountId, filter)
  conditions.push(`d.id > ${bind(next)}`, `d.id < ${bind(idAt('dlv', startedAt.getTime() + 1))}`)
  const size = bind(batchSize)
  // Each is found by an index, and locked where it stands.
  const oldest = branchesOf(filter, conditions).map(
    (branch) => `(select d.account_id, d.id, d.target_id from (${branch}) d order by d.id limit ${size})`,
  )
  const batch = `select * from (${oldest.join(' union all ')}) d order by id limit ${size}`
  return { batch, params, bind }
}

const result = `select (select count(*) from batch) as matched, (select count(*) from changed) as changed,
  (select max(id) from batch) as next`

/**
 * Makes deliveries pending again, with a whole retry schedule before them: same body and idempotency key, to the target's
 * current URL. One whose target is gone or disabled is left out. `perSecond` spreads them from the run's start on.
 */
export const replayBatch = async (work: Work, filter: DeliveryFilter, run: Run, perSecond?: number): Promise<Batch> => {
  const { sql, accountId } = work
  // Held to the end, so that none ends meanwhile.
  const active = await lockTargets(sql, accountId)
  const { batch, params, bind } = batchOf(accountId, filter, run)
  const place = `(row_number() over (order by id) - 1 + ${bind(run.changed)}::int8)`
  const [row] = await sql<Batch & { targets: string[] }>(
    `with batch as materialized (${batch}),
     due as materialized (
       select account_id, id, target_id, ${bind(run.startedAt)}::timestamptz + ${place} * ${bind(perSecond ? 1 / perSecond : 1e-6)}::float8 * interval '1 second' as at
       from batch where target_id = any(${bind(active)})
     ),
     again as (
       update pending_deliveries d set tries = 0, claim = claim + 1, worker = null, due_at = due.at
       from due where d.account_id = due.account_id and d.id = due.id returning d.id
     ),
     gone as (
       delete from ended_deliveries d using due where d.account_id = due.account_id and d.id = due.id
       returning d.*, due.at as due_at
     ),
     back as (
       insert into pending_deliveries
         (account_id, id, target_id, key, type, body, bytes, tries, claim, attempts, created_at, due_at)
       select account_id, id, target_id, key, type, body, octet_length(coalesce(body, (
           select payload from events e where e.account_id = gone.account_id and e.id = gone.key))),
         0, claim + 1, attempts, created_at, due_at
       from gone returning id
     ),
     changed as (select id from again union all select id from back)
     ${result}, array(select distinct target_id from due) as targets`,
    params,
  )
  const { targets, ...done } = row!
  if (done.changed > 0) await lookAgain(work, targets)
  return done
}

/** The targets have something due, now or later. */
const lookAgain = ({ sql, accountId }: Work, ids: readonly string[]) =>
  sql(
    `with lowered as (
       update delivery_targets t set next_due_at = least(t.next_due_at, p.due_at), touched = touched + 1
       from unnest($2::text[]) as o(id) cross join lateral (
         select due_at from pending_deliveries where target_id = o.id and worker is null order by due_at limit 1
       ) p where t.account_id = $1 and t.id = o.id
     )
     select pg_notify('${deliveriesChannel}', '')`,
    [accountId, ids],
  )

/** Cancels the pending ones of the deliveries that match; who waits for one of them is told. */
export const cancelBatch = async (work: Work, filter: DeliveryFilter, run: Run): Promise<Batch> => {
  const { sql, accountId } = work
  await lockTargets(sql, accountId)
  const { batch, params } = batchOf(accountId, { ...filter, status: 'pending' }, run)
  const [row] = await sql<Batch & { told: { id: string; attempts: number }[] }>(
    `with batch as materialized (${batch}), ${cancelled('select account_id, id from batch')},
     changed as (select id from gone)
     ${result}, coalesce((
       select jsonb_agg(jsonb_build_object('id', g.id, 'attempts', jsonb_array_length(g.attempts)))
       from gone g join delivery_targets t on t.id = g.target_id and t.kind = 'journey'
     ), '[]') as told`,
    params,
  )
  const { told, ...done } = row!
  const end = { status: 'cancelled', lastStatus: null, lastError: 'cancelled' } as const
  await tellEnded(
    work,
    told.map((one) => ({ ...one, ...end })),
  )
  return done
}
