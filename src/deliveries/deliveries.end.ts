import { Problem } from '../lib/problem.ts'
import type { Sql } from '../store/database.ts'
import type { App, EndedDelivery, Work } from '../store/work.ts'
import { deliveriesChannel, noticesOf } from './deliveries.insert.ts'

/*
 * A target ends by one change of its row. After its commit nothing is claimed for the target, and its pending deliveries count as
 * cancelled. Their rows are moved to history: a limited number in the same transaction, the rest by the jobs in small
 * transactions. Targets are locked before deliveries and in the order of their ids, as in every transaction that locks both.
 */

/** SQL that notifies the jobs of targets that ended or changed: they give back the claims that wait for them. */
export const changedNotice = (ids: string) => `pg_notify('${deliveriesChannel}', '-' || ${ids})`

/** Number of deliveries that are moved in the transaction that ends their target. */
const atOnce = 10_000

const columns = 'account_id, id, target_id, key, type, body, tries, attempts, created_at'

/** Returns common table expressions that move pending deliveries to history; `gone` has them. `doomed` selects their `account_id` and `id`. */
export const cancelled = (doomed: string) => `
  doomed as materialized (
    ${doomed}
  ), gone as (
    delete from pending_deliveries p using doomed d where p.account_id = d.account_id and p.id = d.id returning p.*
  ), moved as (
    insert into ended_deliveries (${columns}, claim, status, finished_at)
    select ${columns}, claim + 1, 'cancelled', clock.now from gone, (select svc_now() as now) clock
  )`

// A running attempt no longer finds the row of its claim, so its result is not recorded.
const cancelling = (where: string) =>
  `with ${cancelled(`select account_id, id from pending_deliveries p where ${where}`)} select count(*) as count from gone`

/** Locks the account's targets, or those named, in the order of their ids. Returns the ids of the active ones. */
export const lockTargets = async (
  sql: Sql,
  accountId: string,
  ids: readonly string[] | null = null,
): Promise<string[]> => {
  const rows = await sql<{ id: string; status: string }>(
    `select id, status from delivery_targets
     where account_id = $1 and ($2::text[] is null or id = any($2)) order by id for no key update`,
    [accountId, ids],
  )
  return rows.flatMap(({ id, status }) => (status === 'active' ? id : []))
}

/** Ends active targets for `reason`, in the unit of work. Returns how many deliveries it cancelled; the jobs cancel the rest. */
export const endTargets = async (
  { sql, accountId }: Work,
  ids: readonly string[],
  reason: 'gone' | 'api-key-revoked' | null,
): Promise<number> => {
  if (ids.length === 0) return 0
  await lockTargets(sql, accountId, ids)
  await sql(
    `update delivery_targets set status = 'disabled', disabled_reason = $3, next_due_at = null
     where account_id = $1 and id = any($2) and status = 'active'`,
    [accountId, ids, reason],
  )
  return cancelPending(sql, accountId, ids)
}

/** Ends every target of an account that is being deleted: after the commit nothing is posted. The rows are deleted with the account. */
export const closeTargets = async ({ sql, accountId }: Pick<Work, 'sql' | 'accountId'>): Promise<void> => {
  const ids = await lockTargets(sql, accountId)
  if (ids.length === 0) return
  await sql(`update delivery_targets set status = 'disabled', next_due_at = null where account_id = $1`, [accountId])
  await sql(`select ${changedNotice('ids')} from unnest($1::text[]) as n(ids)`, [noticesOf(ids)])
}

/** Deletes a target, in the unit of work. Returns how many deliveries it cancelled; the jobs cancel the rest. */
export const deleteTarget = async ({ sql, accountId, now }: Work, id: string): Promise<number> => {
  await sql(
    `update delivery_targets set status = 'deleted', deleted_at = $3, next_due_at = null where account_id = $1 and id = $2`,
    [accountId, id, now],
  )
  return cancelPending(sql, accountId, [id])
}

/** Makes a target active again. Deliveries that were pending when it ended stay cancelled. */
export const reviveTarget = async ({ sql, accountId }: Work, id: string): Promise<void> => {
  await lockTargets(sql, accountId, [id])
  for (let count = atOnce; count === atOnce; ) count = await cancelPending(sql, accountId, [id])
  await sql(
    `update delivery_targets set status = 'active', disabled_reason = null, timeouts = 0, quiet_until = null
     where account_id = $1 and id = $2`,
    [accountId, id],
  )
}

/**
 * Changes the URL from the next attempt on. Time-outs and quiet time are reset: they belong to the old endpoint. Returns the
 * sealed secret; undefined for a deleted target, which stays as it is.
 */
export const redirectTarget = async (work: Work, id: string, url: string): Promise<string | undefined> => {
  const [row] = await work.sql<{ sealed: string }>(
    `update delivery_targets set url = $3, timeouts = 0, quiet_until = null
     where account_id = $1 and id = $2 and status <> 'deleted' returning sealed_secret as sealed`,
    [work.accountId, id, url],
  )
  if (row) await notifyTargetChanged(work, id)
  return row?.sealed
}

/** Notifies the jobs that the target has another secret or URL: they claim its waiting deliveries again. */
export const notifyTargetChanged = async ({ sql }: Work, id: string): Promise<void> => {
  await sql(`select ${changedNotice('$1')}`, [id])
}

/** Cancels at most 10,000 pending deliveries of targets that the caller has ended; the jobs cancel the rest. Returns the number. */
export const cancelPending = async (sql: Sql, accountId: string, ids: readonly string[]): Promise<number> => {
  const [row] = await sql<{ count: number }>(
    cancelling(`p.account_id = $1 and p.target_id = any($2) limit ${atOnce} for update`),
    [accountId, ids],
  )
  await sql(`select ${changedNotice('ids')} from unnest($1::text[]) as n(ids)`, [noticesOf(ids)])
  return row!.count
}

/** Returns the number of pending deliveries of a target. */
export const countPending = async ({ sql, accountId }: Work, id: string): Promise<number> => {
  const [row] = await sql<{ count: number }>(
    'select count(*) from pending_deliveries where account_id = $1 and target_id = $2',
    [accountId, id],
  )
  return row!.count
}

const leftoverBatch = 1000

/**
 * Cancels the pending deliveries of a target that is not active, in batches, oldest first. Skips rows that another transaction has
 * locked: a later call cancels them.
 */
export const cancelLeftovers = async (sql: Sql, id: string, signal: AbortSignal): Promise<void> => {
  // Skips index entries of rows that earlier batches moved: they stay as long as a dump holds an old snapshot.
  let since = '-infinity'
  for (let count = leftoverBatch; count === leftoverBatch && !signal.aborted; ) {
    const [row] = await sql<{ count: number; last: string | null }>(
      `with ${cancelled(`
        select account_id, id from pending_deliveries where target_id = $1 and due_at >= $2::timestamptz
          and not exists (select from delivery_targets where id = $1 and status = 'active')
        order by due_at limit ${leftoverBatch} for update skip locked`)}
       select count(*) as count, max(due_at)::text as last from gone`,
      [id, since],
      'cancel-leftovers',
    )
    count = row!.count
    since = row!.last ?? since
  }
}

/**
 * Returns the targets with pending deliveries that are not active (`ended`), or do not exist (`missing`). Reads one index entry for
 * each target with pending deliveries.
 */
export const findLeftovers = async (
  sql: Sql,
): Promise<{ ended: string[]; missing: { accountId: string; id: string }[] }> => {
  const rows = await sql<{ id: string; accountId: string; exists: boolean }>(
    `with recursive waiting as (
       (select target_id as id, account_id from pending_deliveries order by target_id, due_at limit 1)
       union all
       select n.target_id, n.account_id from waiting w cross join lateral (
         select p.target_id, p.account_id from pending_deliveries p where p.target_id > w.id order by p.target_id, p.due_at limit 1
       ) n
     )
     select w.id, w.account_id as "accountId", t.status is not null as exists
     from waiting w left join lateral (select status from delivery_targets where id = w.id limit 1) t on true
     where t.status is distinct from 'active'`,
    [],
    'find-leftovers',
  )
  return { ended: rows.flatMap(({ id, exists }) => (exists ? id : [])), missing: rows.filter(({ exists }) => !exists) }
}

/** Cancels pending deliveries of a target that does not exist, notifies the runs that wait for them, and returns the number. */
export const cancelWithoutTarget = async (
  app: Pick<App, 'work'>,
  { accountId, id }: { accountId: string; id: string },
): Promise<number> => {
  try {
    return await app.work(accountId, 'job:deliveries', async (work) => {
      const rows = await work.sql<{ id: string; attempts: number }>(
        `with ${cancelled(`select account_id, id from pending_deliveries where account_id = $1 and target_id = $2
           and not exists (select from delivery_targets where id = $2) limit ${leftoverBatch} for update skip locked`)}
         select id, jsonb_array_length(attempts) as attempts from gone`,
        [accountId, id],
      )
      const ended = { status: 'cancelled', lastStatus: null, lastError: 'The target no longer exists' } as const
      await notifyEnded(
        work,
        rows.map((row) => ({ ...row, ...ended })),
      )
      return rows.length
    })
  } catch (error) {
    // The account is being deleted, and its deliveries with it.
    if (!(error instanceof Problem)) throw error
    return 0
  }
}

/** Notifies the listeners of ended deliveries that callers wait for, in the transaction that ends them. */
export const notifyEnded = async (work: Work, ended: readonly EndedDelivery[]): Promise<void> => {
  if (ended.length === 0) return
  for (const listener of work.listeners) await listener.deliveriesEnded?.(work, ended)
}

/**
 * Cancels those of the deliveries that are still pending, without notifying the listeners: the caller no longer waits for them.
 * Skips a delivery whose result is just being recorded.
 */
export const cancelCalls = async ({ sql, accountId }: Work, ids: readonly string[]): Promise<void> => {
  if (ids.length === 0) return
  await sql(cancelling('p.account_id = $1 and p.id = any($2) for update skip locked'), [accountId, ids])
}
