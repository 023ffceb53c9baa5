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

/** Returns SQL that disables planner settings until the end of the transaction. */
export const off = (...names: string[]): string => names.map((name) => `set_config('${name}', 'off', true)`).join(', ')

/**
 * Sets the planner so that it reads indexes row by row. The tables empty and fill within seconds, so their statistics are always
 * wrong, and all other plans can be bad.
 */
export const rowByRow = off('enable_seqscan', 'enable_bitmapscan', 'enable_hashjoin', 'enable_mergejoin')
