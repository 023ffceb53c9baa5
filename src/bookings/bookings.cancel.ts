import { withdrawInteraction } from '../engagement/engagement.ts'
import { emit } from '../events/emit.ts'
import { addressPattern, erasedAddress } from '../lib/erased.ts'
import { noSuch } from '../lib/problem.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'
import { type NotifyContext, notifyAttendee, withdrawNotices } from './bookings.notify.ts'
import {
  type BookingRow,
  type BookingView,
  bookingColumns,
  bookingData,
  bookingTypes,
  viewBooking,
} from './bookings.view.ts'

interface Cancellation {
  by: 'attendee' | 'host'
  reason: string | null
}

/** The maximum length of a reason in characters. */
export const reasonMaxLength = 1000

const freeBookingStart = preparedStatement(
  'free-booking-start',
  { parameters: { accountId: 'text', projectId: 'text', blockId: 'text', startAt: 'timestamptz' } },
  'delete from booking_slots where account_id = :accountId and project_id = :projectId and block_id = :blockId and start_at = :startAt',
)

const releaseTime = (work: Work, { projectId, blockId, startAt }: BookingRow) =>
  work.sql(freeBookingStart, { accountId: work.accountId, projectId, blockId, startAt: new Date(startAt) })

const markCancelled = preparedStatement(
  'end-booking',
  {
    row: bookingTypes,
    parameters: { accountId: 'text', id: 'text', by: 'text?', reason: 'text?', now: 'timestamptz' },
  },
  `update bookings set status = 'cancelled', cancelled_by = :by, reason = :reason, cancelled_at = :now, updated_at = :now,
     sequence = sequence + 1, remind_at = null
   where account_id = :accountId and id = :id returning ${bookingColumns}`,
)

/** Cancels a locked booking and releases its time, so that the block can be answered again. */
const endBooking = async (work: Work, booking: BookingRow, by: Cancellation['by'] | null, reason: string | null) => {
  const { sql, accountId, now } = work
  const [row] = await sql(markCancelled, { accountId, id: booking.id, by, reason, now })
  await releaseTime(work, booking)
  await withdrawInteraction(work, booking.messageId, 'booking', booking.blockId)
  return row!
}

const lockBooking = preparedStatement(
  'lock-booking',
  { row: bookingTypes, parameters: { accountId: 'text', id: 'text' } },
  `select ${bookingColumns} from bookings where account_id = :accountId and id = :id for update`,
)

/**
 * Cancels a booking, fires `booking.cancelled`, and sends the attendee an email that removes the booking from their calendar.
 * Returns `cancelled` false, and changes nothing, if the booking was already cancelled or has ended. Throws Problem `not_found`.
 */
export const cancelBooking = async (
  app: NotifyContext,
  work: Work,
  id: string,
  { by, reason }: Cancellation,
): Promise<{ booking: BookingView; cancelled: boolean }> => {
  const [current] = await work.sql(lockBooking, { accountId: work.accountId, id })
  if (!current) throw noSuch('booking', id, { hint: 'svc bookings list' })
  if (current.status === 'cancelled' || current.endAt <= work.now.getTime())
    return { booking: viewBooking(current), cancelled: false }
  const booking = await endBooking(work, current, by, reason)
  await emit(work, 'booking.cancelled', () => [{ booking: bookingData(booking), cancelledBy: by, reason }])
  await withdrawNotices(work, current)
  await notifyAttendee(app, work, 'cancelled', booking)
  return { booking: viewBooking(booking), cancelled: true }
}

const lockBookingsOf = statement(
  'lock-bookings-of-address',
  { row: bookingTypes, parameters: { accountId: 'text', email: 'text' } },
  `select ${bookingColumns} from bookings where account_id = :accountId and email = :email order by id for update`,
)

const eraseBookings = statement(
  'erase-bookings-of-address',
  { parameters: { accountId: 'text', email: 'text', pattern: 'text' } },
  `update bookings set name = '', email = '', reason = null, title = regexp_replace(title, :pattern, ${erasedAddress}, 'gi')
   where account_id = :accountId and email = :email`,
)

/**
 * Removes an erased address from its bookings. Times of future bookings are released without an event or an email, because there
 * is no attendee left to notify.
 */
export const eraseAttendee = async (work: Work, email: string): Promise<void> => {
  const { sql, accountId, now } = work
  const rows = await sql(lockBookingsOf, { accountId, email })
  for (const row of rows) {
    if (row.status === 'confirmed' && row.endAt > now.getTime()) await endBooking(work, row, null, null)
  }
  await sql(eraseBookings, { accountId, email, pattern: addressPattern(email) })
}
