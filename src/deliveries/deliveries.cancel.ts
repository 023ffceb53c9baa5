import { statement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'
import type { EndedDelivery } from './deliveries.entities.ts'
import { announceTargetsChanged } from './deliveries.notices.ts'

const kept = 'account_id, id, target_id, key, type, body, tries, attempts, created_at'

/** Returns common table expressions that move to history what `deletion` deletes and returns; `gone` has these rows. */
export const movedToHistory = (deletion: string) => `
  gone as (
    ${deletion}
  ), moved as (
    insert into ended_deliveries (${kept}, claim, status, finished_at)
    select ${kept}, claim + 1, 'cancelled', clock.now from gone, (select svc_now() as now) clock
  )`

/** Returns common table expressions that move pending deliveries to history; `gone` has them. `doomed` selects their `account_id` and `id`. */
export const cancelled = (doomed: string) => `
  doomed as materialized (
    ${doomed}
  ), ${movedToHistory('delete from pending_deliveries p using doomed d where p.account_id = d.account_id and p.id = d.id returning p.*')}`

/**
 * The same for a large batch that is repeated: `locked` selects the ctids of rows as `row`, `for update skip locked`. Rows that changed
 * after the statement began are also skipped. If the queue was empty at the last analyze, the planner joins by comparing every pair
 * of rows: 20,000 deliveries took 51 s, and take 0.5 s by their ctids.
 */
export const cancelledRows = (locked: string) => `
  locked as materialized (
    ${locked}
  ), ${movedToHistory('delete from pending_deliveries where ctid = any(array(select row from locked)) returning *')}`

/** The end of a delivery that a caller waits for. */
export interface CallEnd {
  id: string
  status: EndedDelivery['status']
  attempts: number
  lastStatus: number | null
  lastError: string | null
}

/** Notifies the listeners of ended deliveries that callers wait for, in the transaction that ends them. */
export const notifyEnded = async (work: Work, ended: readonly CallEnd[]): Promise<void> => {
  if (ended.length === 0) return
  for (const listener of await work.listeners()) await listener.deliveriesEnded?.(work, ended)
}

// A running attempt no longer finds the row of its claim, so its result is not recorded.
const cancelUnlocked = statement(
  'cancel-calls',
  { row: { count: 'int8', targets: '_text' }, parameters: { accountId: 'text', ids: '_text' } },
  `with ${cancelled(`
    select account_id, id from pending_deliveries where account_id = :accountId and id = any(:ids) for update skip locked`)}
  select count(*) as count, array(select distinct target_id from gone) as targets from gone`,
)

/**
 * Cancels those of the deliveries that are still pending, without notifying the listeners: the caller no longer waits for them.
 * Skips a delivery whose result is just being recorded. `isManual` also tells the jobs to return what they have claimed ahead for
 * these targets, so that nothing cancelled is posted. Cancellations by events are too frequent for that. Returns their number.
 */
export const cancelCalls = async (work: Work, ids: readonly string[], { isManual = false } = {}): Promise<number> => {
  if (ids.length === 0) return 0
  const { sql, accountId } = work
  const [cancelled] = await sql(cancelUnlocked, { accountId, ids })
  const { count, targets } = cancelled!
  if (isManual) announceTargetsChanged(work, targets)
  return count
}
