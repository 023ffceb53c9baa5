import { preparedStatement, statement } from '../store/statement.ts'
import type { App, Work } from '../store/work.ts'
import { notifyAttendee } from './bookings.notify.ts'
import { dueReminder, nextReminderAt } from './bookings.schedule.ts'
import { bookingColumns, bookingTypes } from './bookings.view.ts'

const lockDue = preparedStatement(
  'lock-due-booking-reminder',
  { row: bookingTypes, parameters: { accountId: 'text', id: 'text', now: 'timestamptz' } },
  `select ${bookingColumns} from bookings
   where account_id = :accountId and id = :id and status = 'confirmed' and remind_at <= :now for update skip locked`,
)

const scheduleNext = statement(
  'schedule-next-booking-reminder',
  { parameters: { accountId: 'text', id: 'text', remindAt: 'timestamptz?' } },
  'update bookings set remind_at = :remindAt where account_id = :accountId and id = :id',
)

/** Sends the reminder of a booking that is due, and schedules the next one. */
export const remind = async (app: App, work: Work, id: string): Promise<void> => {
  const { sql, accountId } = work
  const now = work.now.getTime()
  const [booking] = await sql(lockDue, { accountId, id, now: work.now })
  if (!booking) return
  await sql(scheduleNext, { accountId, id, remindAt: nextReminderAt(booking.startAt, now) })
  const kind = dueReminder(booking.startAt, now)
  if (kind) await notifyAttendee(app, work, 'reminder', booking, kind)
}
