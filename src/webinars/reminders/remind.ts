import { statement } from '../../store/statement.ts'
import type { App, Work } from '../../store/work.ts'
import { publishOutcome } from '../attendance/attendance.ts'
import { type Attendee, notifyAttendees } from '../emails/emails.ts'
import { lockWebinar, type WebinarRow } from '../sessions/sessions.ts'
import { cancelReminders, hourBefore, reminderKey } from './reminders.schedule.ts'

const batchSize = 200

const lockDue = statement<Attendee>(
  'lock-due-reminders',
  { id: 'text', email: 'text', name: 'text' },
  `select id, email, name from webinar_registrations
   where account_id = $1 and webinar_id = $2 and remind_at <= $3 order by id limit ${batchSize} for update skip locked`,
)

const scheduleNext = statement(
  'schedule-next-reminders',
  {},
  'update webinar_registrations set remind_at = $3 where account_id = $1 and id = any($2)',
)

/** Decides who attended an ended webinar, at most a batch of its registrations. Returns whether more may be due. */
const decideBatch = async (app: App, work: Work, webinar: WebinarRow): Promise<boolean> => {
  const due = await work.sql(lockDue, [work.accountId, webinar.id, work.now])
  const ids = due.map(({ id }) => id)
  if (ids.length > 0) await publishOutcome(app, work, webinar, ids)
  return due.length === batchSize
}

/** Sends at most a batch of a webinar's due reminders; after its end, decides who attended. Returns whether more may be due. */
export const remindBatch = async (app: App, work: Work, webinarId: string): Promise<boolean> => {
  const { sql, accountId, now } = work
  const webinar = await lockWebinar(work, webinarId, 'read')
  const { status, scheduledAt, sequence } = webinar
  if (status === 'ended') return decideBatch(app, work, webinar)
  if (status !== 'scheduled' || !scheduledAt || now >= scheduledAt) {
    await cancelReminders(work, webinarId)
    return false
  }
  const due = await sql(lockDue, [accountId, webinarId, now])
  if (due.length === 0) return false
  // If both reminders are overdue, only the later one is sent.
  const lastAt = hourBefore(scheduledAt)
  const [kind, nextAt] = now < lastAt ? (['24h', lastAt] as const) : (['1h', null] as const)
  const ids = due.map(({ id }) => id)
  await sql(scheduleNext, [accountId, ids, nextAt])
  await notifyAttendees(app, work, webinar, 'reminder', due, ({ id }) => reminderKey(id, kind, sequence))
  return due.length === batchSize
}
