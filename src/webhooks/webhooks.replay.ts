import { idAt } from '../lib/ids.ts'
import { missing } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'
import { type DeliveryFilter, matching } from './webhooks.deliveries.ts'
import { cancelled, notifyDeliveries } from './webhooks.outbox.ts'

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
  const [row] = await sql<{ matched: number; leftOut: number }>(
    `select count(*) as matched, count(*) filter (where d.webhook_id not in (
       select id from webhooks where account_id = $1 and status = 'active')) as "leftOut"
     from deliveries d where ${conditions.join(' and ')}`,
    params,
  )
  return row!
}

/** Throws `missing` for the first id that the account has no delivery of. */
export const demandDeliveries = async ({ sql, accountId }: Work, ids: readonly string[]): Promise<void> => {
  const [absent] = await sql<{ id: string }>(
    `select id from unnest($2::text[]) as given(id)
     where not exists (select from deliveries d where d.account_id = $1 and d.id = given.id) limit 1`,
    [accountId, ids],
  )
  if (absent) throw missing(`There is no delivery ${absent.id}`, { hint: 'svc deliveries list' })
}

/**
 * Held to the end, so that none is disabled meanwhile (see webhooks.outbox.ts). Webhooks come before deliveries and in the
 * order of their ids, as wherever both are locked: recording waits instead of meeting us half-way. New events do not wait.
 */
const lockWebhooks = async ({ sql, accountId }: Work, status?: 'active'): Promise<string[]> => {
  const rows = await sql<{ id: string }>(
    `select id from webhooks where account_id = $1 and ($2::text is null or status = $2) order by id for no key update`,
    [accountId, status ?? null],
  )
  return rows.map((row) => row.id)
}

const batchOf = (accountId: string, filter: DeliveryFilter, { startedAt, next = '' }: Run) => {
  const { conditions, params, bind } = matching(accountId, filter)
  conditions.push(`d.id > ${bind(next)}`, `d.id < ${bind(idAt('dlv', startedAt.getTime() + 1))}`)
  // Joined to the table again by the account's id from here: the planner, which may know nothing of an account that grew
  // just now, could take a constant for a reason to read all of the account for each row of the batch.
  const batch = `select d.account_id, d.id, d.webhook_id from deliveries d where ${conditions.join(' and ')}
    order by d.id limit ${batchSize} for update`
  return { batch, params, bind }
}

const result = `select (select count(*) from batch) as matched, (select count(*) from changed) as changed,
  (select max(id) from batch) as next`

/**
 * Makes deliveries pending again, with a whole retry schedule before them: same body and idempotency key, to the webhook's
 * current URL. One whose webhook is gone or disabled is left out. `perSecond` spreads them from the run's start on.
 */
export const replayBatch = async (work: Work, filter: DeliveryFilter, run: Run, perSecond?: number): Promise<Batch> => {
  const active = await lockWebhooks(work, 'active')
  const { sql, accountId } = work
  const { batch, params, bind } = batchOf(accountId, filter, run)
  const position = `(row_number() over (order by id) - 1 + ${bind(run.changed)}::int8)`
  const [row] = await sql<Batch>(
    `with batch as (${batch}),
     due as (
       select account_id, id, ${bind(run.startedAt)}::timestamptz + ${position} * ${bind(perSecond ? 1 / perSecond : 0)}::float8 * interval '1 second' as at
       from batch where webhook_id = any(${bind(active)})
     ),
     changed as (
       update deliveries d
       set status = 'pending', tries = 0, claim = claim + 1, leased_until = null, finished_at = null, due_at = due.at
       from due where d.account_id = due.account_id and d.id = due.id returning 1
     )
     ${result}`,
    params,
  )
  if (row!.changed > 0) await sql(`select ${notifyDeliveries}`)
  return row!
}

/** Cancels the pending ones of the deliveries that match. */
export const cancelBatch = async (work: Work, filter: DeliveryFilter, run: Run): Promise<Batch> => {
  await lockWebhooks(work)
  const { sql, accountId, now } = work
  const { batch, params, bind } = batchOf(accountId, { ...filter, status: 'pending' }, run)
  const [row] = await sql<Batch>(
    `with batch as (${batch}),
     changed as (
       update deliveries d set ${cancelled}, finished_at = ${bind(now)}
       from batch where d.account_id = batch.account_id and d.id = batch.id returning 1
     )
     ${result}`,
    params,
  )
  return row!
}
