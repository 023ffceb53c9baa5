import type { Sql } from '../../store/database.ts'
import { statement } from '../../store/statement.ts'
import { types } from '../../store/tables.ts'
import type { Work } from '../../store/work.ts'
import { movedToHistory } from '../deliveries.cancel.ts'
import { deliveryTargets } from '../deliveries.columns.ts'
import { announceTargetsChanged } from '../deliveries.notices.ts'

/*
 * A target ends by one change of its row, so that a deletion, a revocation or a 410 does not wait for transactions that write deliveries.
 * After its commit nothing is claimed for the target, and its pending deliveries count as cancelled, whenever they are committed
 * (`deliveries.find.ts` shows them so). Their rows are moved to history: a limited number in the same transaction, the rest by the jobs
 * in small transactions. Targets are locked before deliveries and in the order of their ids, as in every transaction that locks both.
 */

/** Number of deliveries that are moved in the transaction that ends their target. */
const atOnce = 10_000

const lockRows = statement(
  'lock-targets',
  { row: { id: 'text', status: 'text' }, parameters: { accountId: 'text', ids: '_text?' } },
  `select id, status from delivery_targets
   where account_id = :accountId and (:ids::text[] is null or id = any(:ids)) order by id for no key update`,
)

/** Locks the account's targets, or those named, in the order of their ids. Returns the ids of the active ones. */
export const lockTargets = async (
  sql: Sql,
  accountId: string,
  ids: readonly string[] | null = null,
): Promise<string[]> => {
  const rows = await sql(lockRows, { accountId, ids })
  return rows.flatMap(({ id, status }) => (status === 'active' ? id : []))
}

const disableActive = statement(
  'disable-active-targets',
  { parameters: { accountId: 'text', ids: '_text', reason: 'text?' } },
  `update delivery_targets set status = 'disabled', disabled_reason = :reason, next_due_at = null
   where account_id = :accountId and id = any(:ids) and status = 'active'`,
)

/** Ends active targets for `reason`, in the unit of work. Returns how many deliveries it cancelled; the jobs cancel the rest. */
export const endTargets = async (
  work: Work,
  ids: readonly string[],
  reason: 'gone' | 'api-key-revoked' | null,
): Promise<number> => {
  if (ids.length === 0) return 0
  const { sql, accountId } = work
  await lockTargets(sql, accountId, ids)
  await sql(disableActive, { accountId, ids, reason })
  return cancelPending(work, ids)
}

const disableAll = statement(
  'disable-all-targets',
  { parameters: { accountId: 'text' } },
  `update delivery_targets set status = 'disabled', next_due_at = null where account_id = :accountId`,
)

/** Ends every target of an account that is being deleted: after the commit nothing is posted. The rows are deleted with the account. */
export const closeTargets = async (work: Work): Promise<void> => {
  const { sql, accountId } = work
  const ids = await lockTargets(sql, accountId)
  if (ids.length === 0) return
  await sql(disableAll, { accountId })
  announceTargetsChanged(work, ids)
}

const markDeleted = statement(
  'delete-target',
  { parameters: { ...types(deliveryTargets, 'accountId', 'id'), now: 'timestamptz' } },
  `update delivery_targets set status = 'deleted', deleted_at = :now, next_due_at = null
   where account_id = :accountId and id = :id`,
)

const revive = statement(
  'revive-target',
  { parameters: types(deliveryTargets, 'accountId', 'id') },
  `update delivery_targets set status = 'active', disabled_reason = null, timeouts = 0, quiet_until = null
   where account_id = :accountId and id = :id`,
)

/** Deletes a target, in the unit of work. Returns how many deliveries it cancelled; the jobs cancel the rest. */
export const deleteTarget = async (work: Work, id: string): Promise<number> => {
  const { sql, accountId, now } = work
  await sql(markDeleted, { accountId, id, now })
  return cancelPending(work, [id])
}

/** Makes a target active again. Deliveries that were pending when it ended stay cancelled. */
export const reviveTarget = async (work: Work, id: string): Promise<void> => {
  const { sql, accountId } = work
  await lockTargets(sql, accountId, [id])
  for (let count = atOnce; count >= atOnce; ) count = await cancelPending(work, [id])
  await sql(revive, { accountId, id })
}

// Without a join: if the queue was empty at the last analyze, the planner compares every pair of rows (51 s for 10,000 of 20,000).
const cancelSome = statement(
  'cancel-deliveries-of-targets',
  { row: { count: 'int8' }, parameters: { accountId: 'text', ids: '_text' } },
  `with ${movedToHistory(`
    delete from pending_deliveries
    where account_id = :accountId and target_id = any(:ids) and due_at <= coalesce((
      select due_at from pending_deliveries where account_id = :accountId and target_id = any(:ids)
      order by due_at offset ${atOnce - 1} limit 1
    ), 'infinity') returning *`)}
  select count(*) as count from gone`,
)

/**
 * Cancels the first 10,000 pending deliveries of targets that the caller has ended, and those that are due at the same time as the last
 * of them; the jobs cancel the rest. Returns the number.
 */
const cancelPending = async (work: Work, ids: readonly string[]): Promise<number> => {
  const [row] = await work.sql(cancelSome, { accountId: work.accountId, ids })
  announceTargetsChanged(work, ids)
  return row!.count
}
