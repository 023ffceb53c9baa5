import { isHeld } from '../../queue/holds.ts'

export const open = `status in ('running', 'waiting') and delivery_id is null`
export const due = 'greatest(due_at, retry_at)'

/** Whether the first run is due, for the heartbeats of a process. */
export const isRunDue = `
  select ${due} <= svc_now() and not ${isHeld('journeys')} from journey_runs where ${open} order by ${due} limit 1`
