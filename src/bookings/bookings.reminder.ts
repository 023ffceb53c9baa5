import { preparedStatement, statement } from '../store/statement.ts'
import type { App, Work } from '../store/work.ts'
import { notifyAttendee } from './bookings.notify.ts'
import { dueReminder, nextReminderAt } from './bookings.schedule.ts'
import { type BookingRow, bookingColumns, bookingTypes } from './bookings.view.ts'

const lockDue = preparedStatement<BookingRow>(
  'lock-due-booking-reminder',
  bookingTypes,
  `select ${bookingColumns} from bookings
   where account_id = $1 and id = $2 and status = 'confirmed' and remind_at <= $3 for update skip locked`,
)

const scheduleNext = statement(
  'schedule-next-booking-reminder',
  {},
  'update bookings set remind_at = $3 where account_id = $1 and id = $2',
)

/** Sends the reminder of a booking that is due, and schedules the next one. */
export const remind = async (app: App, work: Work, id: string): Promise<void> => {
  const { sql, accountId } = work
  const now = work.now.getTime()
  const [booking] = await sql(lockDue, [accountId, id, work.now])
  if (!booking) return
  await sql(scheduleNext, [accountId, id, nextReminderAt(booking.startAt, now)])
  const kind = dueReminder(booking.startAt, now)
  if (kind) await notifyAttendee(app, work, 'reminder', booking, kind)
}
