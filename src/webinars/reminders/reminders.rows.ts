import { isHeld } from '../../queue/holds.ts'

export const pending = 'remind_at is not null'

/** Whether the first pending reminder is due, for the heartbeats of a process. */
export const isReminderDue = `
  select remind_at <= svc_now() and not ${isHeld('sends')} from webinar_registrations where ${pending} order by remind_at limit 1`
