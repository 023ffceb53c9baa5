import { closedAccountIds } from '../../accounts/accounts.rows.ts'
import { isHeld } from '../../queue/holds.ts'
import type { QueueView } from '../../queue/loop.ts'

export const open = `status in ('running', 'waiting') and delivery_id is null`
export const due = 'greatest(due_at, retry_at)'

/** Whether the first run is due, for the heartbeats of a process. */
export const isRunDue = `
  select ${due} <= svc_now() and not ${isHeld('journeys')} from journey_runs where ${open} order by ${due} limit 1`

/** The SQL condition that excludes the runs of accounts that are being deleted, or are exported. */
export const isAlive = `account_id <> all(array${closedAccountIds})`

/** The queue of journey runs, for depths and metrics. */
export const journeysQueue: QueueView = {
  name: 'journeys',
  due: `select ${due} as due_at from clock, journey_runs where ${open} and ${due} <= clock.now and ${isAlive}`,
}
