import { statement } from '../../store/statement.ts'
import type { Work } from '../../store/work.ts'
import type { WebinarRow } from '../sessions/sessions.find.ts'

/*
 * Each registration stores the time of its next reminder. A daemon writes the email and the next time in one transaction, and the
 * email's key contains the registration, so each reminder is sent once, with any number of daemons and after a downtime.
 */

const hourMs = 3_600_000
const dayMs = 24 * hourMs

const before = (scheduledAt: Date, ms: number): Date => new Date(scheduledAt.getTime() - ms)

export const hourBefore = (scheduledAt: Date): Date => before(scheduledAt, hourMs)

/** Minimum time between the confirmation, which has the same content, and a reminder. */
const minGapMs = 15 * 60_000

/**
 * Returns when an attendee who gets a seat at `now` is first reminded: a day before, or within the last day an hour before, but
 * not right after the confirmation. Returns null if there is none.
 */
export const firstReminderAt = ({ status, scheduledAt }: WebinarRow, now: Date): Date | null => {
  if (status !== 'scheduled' || !scheduledAt) return null
  const dayBefore = before(scheduledAt, dayMs)
  const dueAt = now < dayBefore ? dayBefore : hourBefore(scheduledAt)
  const at = new Date(Math.max(dueAt.getTime(), now.getTime() + minGapMs))
  return at < scheduledAt ? at : null
}

/** Returns the key of a reminder's email. A webinar that was moved has new reminders. */
export const reminderKey = (registrationId: string, kind: '24h' | '1h', sequence: number): string =>
  `reminder:${registrationId}:${kind}${sequence > 0 ? `:${sequence}` : ''}`

const clearReminders = statement(
  'cancel-reminders',
  { parameters: { accountId: 'text', webinarId: 'text' } },
  `update webinar_registrations set remind_at = null
   where account_id = :accountId and webinar_id = :webinarId and remind_at is not null`,
)

const schedule = statement(
  'schedule-webinar-emails',
  { parameters: { accountId: 'text', webinarId: 'text', remindAt: 'timestamptz?' } },
  `update webinar_registrations set remind_at = :remindAt
   where account_id = :accountId and webinar_id = :webinarId and status = 'confirmed' and email <> ''`,
)

/** Schedules the next reminder, or the decision who attended, of everyone with a seat in a locked webinar. */
export const scheduleAll = async ({ sql, accountId }: Work, webinarId: string, at: Date | null): Promise<void> => {
  await sql(schedule, { accountId, webinarId, remindAt: at })
}

export const cancelReminders = async ({ sql, accountId }: Work, webinarId: string): Promise<void> => {
  await sql(clearReminders, { accountId, webinarId })
}
