import { statement } from '../../store/statement.ts'
import { types } from '../../store/tables.ts'
import type { App, Work } from '../../store/work.ts'
import { publishOutcome } from '../attendance/outcome.ts'
import { notifyAttendees } from '../emails/emails.ts'
import { lockWebinar, type WebinarRow } from '../sessions/sessions.find.ts'
import { webinarRegistrations } from '../webinars.columns.ts'
import { cancelReminders, hourBefore, reminderKey } from './reminders.schedule.ts'

const batchSize = 200

const lockDue = statement(
  'lock-due-reminders',
  {
    row: types(webinarRegistrations, 'id', 'email', 'name'),
    parameters: { accountId: 'text', webinarId: 'text', now: 'timestamptz' },
  },
  `select id, email, name from webinar_registrations
   where account_id = :accountId and webinar_id = :webinarId and remind_at <= :now order by id limit ${batchSize} for update skip locked`,
)

const scheduleNext = statement(
  'schedule-next-reminders',
  { parameters: { accountId: 'text', ids: '_text', nextAt: 'timestamptz?' } },
  'update webinar_registrations set remind_at = :nextAt where account_id = :accountId and id = any(:ids)',
)

/** Decides who attended an ended webinar, at most a batch of its registrations. Returns whether more may be due. */
const decideBatch = async (app: App, work: Work, webinar: WebinarRow): Promise<boolean> => {
  const due = await work.sql(lockDue, { accountId: work.accountId, webinarId: webinar.id, now: work.now })
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
  const due = await sql(lockDue, { accountId, webinarId, now })
  if (due.length === 0) return false
  // If both reminders are overdue, only the later one is sent.
  const lastAt = hourBefore(scheduledAt)
  const [kind, nextAt] = now < lastAt ? (['24h', lastAt] as const) : (['1h', null] as const)
  const ids = due.map(({ id }) => id)
  await sql(scheduleNext, { accountId, ids, nextAt })
  await notifyAttendees(app, work, webinar, 'reminder', due, ({ id }) => reminderKey(id, kind, sequence))
  return due.length === batchSize
}
