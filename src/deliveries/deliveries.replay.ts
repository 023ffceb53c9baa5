import { idAt } from '../lib/ids.ts'
import { noSuch } from '../lib/problem.ts'
import { statement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'
import { cancelled, notifyEnded } from './deliveries.cancel.ts'
import { isErased } from './deliveries.erase.ts'
import { branchesOf, type DeliveryFilter, matching } from './deliveries.find.ts'
import { announceTargetsChanged, deliveriesChannel } from './deliveries.notices.ts'
import { lockTargets } from './targets/end.ts'

/*
 * Bulk changes process the matching deliveries in batches, oldest first, with a transaction for each batch: the caller repeats the
 * call with `next` until that is null. A run never includes a delivery that was created after the run's start.
 */

const batchSize = 2000

/** The progress of a run. */
export interface Run {
  startedAt: Date
  /** The last id of the previous batch; absent at the start. */
  next?: string
  /** Number of deliveries that the previous batches changed. */
  changed: number
}

export interface Batch {
  matched: number
  changed: number
  /** The last id of this batch. It is null if nothing was left. */
  next: string | null
}

/** Counts the matching deliveries, and those of them that can't be replayed because their webhook is deleted or disabled. */
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

const findAbsent = statement(
  'find-absent-delivery',
  { row: { id: 'text' }, parameters: { accountId: 'text', ids: '_text' } },
  `select id from unnest(:ids::text[]) with ordinality as given(id, n)
   where not exists (select from pending_deliveries d where d.account_id = :accountId and d.id = given.id)
     and not exists (select from ended_deliveries d where d.account_id = :accountId and d.id = given.id) order by n limit 1`,
)

/** Throws Problem `not_found` for the first id that is not a delivery of the account. */
export const requireDeliveries = async ({ sql, accountId }: Work, ids: readonly string[]): Promise<void> => {
  const [absent] = await sql(findAbsent, { accountId, ids })
  if (absent) throw noSuch('delivery', absent.id, { hint: 'svc deliveries list' })
}

/** Returns SQL of the next batch of a run: its oldest deliveries. The caller has locked the targets. */
const batchOf = (accountId: string, filter: DeliveryFilter, { startedAt, next = '' }: Run) => {
  const { conditions, params, bind } = matching(accountId, filter)
  conditions.push(`d.id > ${bind(next)}`, `d.id < ${bind(idAt('dlv', startedAt.getTime() + 1))}`)
  const size = bind(batchSize)
  // Each branch uses an index.
  const oldest = branchesOf(filter, conditions).map(
    (branch) => `(select d.account_id, d.id, d.target_id from (${branch}) d order by d.id limit ${size})`,
  )
  const batch = `select * from (${oldest.join(' union all ')}) d order by id limit ${size}`
  return { batch, params, bind }
}

const result = `select (select count(*) from batch) as matched, (select count(*) from changed) as changed,
  (select max(id) from batch) as next`

/**
 * Makes deliveries pending again with a new retry schedule: same body and idempotency key, to the target's current URL. Skips
 * deliveries whose target is deleted or disabled, and erased ones. `perSecond` spreads them from the run's start on. The jobs return
 * claims of pending deliveries that they hold ahead of their posts, so that each is posted only once more.
 */
export const replayBatch = async (work: Work, filter: DeliveryFilter, run: Run, perSecond?: number): Promise<Batch> => {
  const { sql, accountId } = work
  // Locked until the end of the transaction, so that no target ends meanwhile.
  const active = await lockTargets(sql, accountId)
  const { batch, params, bind } = batchOf(accountId, filter, run)
  const place = `(row_number() over (order by id) - 1 + ${bind(run.changed)}::int8)`
  const [row] = await sql<Batch & { targets: string[] }>(
    `with batch as materialized (${batch}),
     due as materialized (
       select account_id, id, target_id, ${bind(run.startedAt)}::timestamptz + ${place} * ${bind(perSecond ? 1 / perSecond : 1e-6)}::float8 * interval '1 second' as at
       from batch where target_id = any(${bind(active)})
         and not exists (select from ended_deliveries d where d.account_id = batch.account_id and d.id = batch.id and ${isErased})
     ),
     again as (
       update pending_deliveries d set tries = 0, claim = claim + 1, worker = null, due_at = due.at
       from due where d.account_id = due.account_id and d.id = due.id returning d.id, d.target_id
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
     lowered as (
       update delivery_targets t set next_due_at = least(t.next_due_at, earliest.at), version = version + 1
       from (select target_id, min(at) as at from due group by target_id) earliest
       where t.account_id = $1 and t.id = earliest.target_id
     ),
     changed as (select id from again union all select id from back)
     ${result}, array(select distinct target_id from again) as targets`,
    params,
  )
  const { targets, ...done } = row!
  // Without this, the jobs would also post what they had claimed before.
  announceTargetsChanged(work, targets)
  if (done.changed > 0) work.announce(deliveriesChannel)
  return done
}

/**
 * Cancels the matching deliveries that are pending, and notifies callers that wait for them. The jobs return the claims that they hold
 * ahead of their posts.
 */
export const cancelBatch = async (work: Work, filter: DeliveryFilter, run: Run): Promise<Batch> => {
  const { sql, accountId } = work
  await lockTargets(sql, accountId)
  const { batch, params } = batchOf(accountId, { ...filter, status: 'pending' }, run)
  const [row] = await sql<Batch & { awaited: { id: string; attempts: number }[]; targets: string[] }>(
    `with batch as materialized (${batch}), ${cancelled('select account_id, id from batch')},
     changed as (select id from gone)
     ${result}, coalesce((
       select jsonb_agg(jsonb_build_object('id', g.id, 'attempts', jsonb_array_length(g.attempts)))
       from gone g join delivery_targets t on t.id = g.target_id and t.kind = 'journey'
     ), '[]') as awaited, array(select distinct target_id from gone) as targets`,
    params,
  )
  const { awaited, targets, ...done } = row!
  announceTargetsChanged(work, targets)
  const end = { status: 'cancelled', lastStatus: null, lastError: 'cancelled' } as const
  await notifyEnded(
    work,
    awaited.map((one) => ({ ...one, ...end })),
  )
  return done
}
