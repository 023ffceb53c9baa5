import { withdrawInteraction } from '../engagement/engagement.ts'
import { emit } from '../events/emit.ts'
import { missing } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'
import { type Teller, tellAttendee } from './bookings.tell.ts'
import { type BookingRow, type BookingView, bookingColumns, bookingData, viewBooking } from './bookings.view.ts'

export interface Cancellation {
  by: 'attendee' | 'host'
  /** null: none was given. */
  reason: string | null
}

/** At most so many characters of a reason. */
export const reasonMaxLength = 1000

const freeStart = (work: Work, { projectId, blockId, startAt }: BookingRow) =>
  work.sql(
    'delete from booking_slots where account_id = $1 and project_id = $2 and block_id = $3 and start_at = $4',
    [work.accountId, projectId, blockId, new Date(startAt)],
    'free-booking-start',
  )

/** Ends a locked booking and frees its start: the block can be answered anew. */
const end = async (work: Work, booking: BookingRow, by: Cancellation['by'] | null, reason: string | null) => {
  const { sql, accountId, now } = work
  const [row] = await sql<BookingRow>(
    `update bookings set status = 'cancelled', cancelled_by = $3, reason = $4, cancelled_at = $5, updated_at = $5,
       sequence = sequence + 1
     where account_id = $1 and id = $2 returning ${bookingColumns}`,
    [accountId, booking.id, by, reason, now],
    'end-booking',
  )
  await freeStart(work, booking)
  await withdrawInteraction(work, booking.messageId, 'booking', booking.blockId)
  return row!
}

/**
 * Cancels a booking, with its `booking.cancelled` and a mail to the attendee that takes it out of their calendar. `cancelled`
 * is false where it was cancelled before: nothing is changed then. Throws Problem `missing`.
 */
export const cancelBooking = async (
  app: Teller,
  work: Work,
  id: string,
  { by, reason }: Cancellation,
): Promise<{ booking: BookingView; cancelled: boolean }> => {
  const [held] = await work.sql<BookingRow>(
    `select ${bookingColumns} from bookings where account_id = $1 and id = $2 for update`,
    [work.accountId, id],
    'lock-booking',
  )
  if (!held) throw missing(`There is no booking ${id}`, { hint: 'svc bookings list' })
  if (held.status === 'cancelled') return { booking: viewBooking(held), cancelled: false }
  const booking = await end(work, held, by, reason)
  await emit(work, 'booking.cancelled', () => [{ booking: bookingData(booking), cancelledBy: by, reason }])
  await tellAttendee(app, work, 'cancelled', booking)
  return { booking: viewBooking(booking), cancelled: true }
}

/**
 * Takes an erased address out of its bookings. What was still to come is freed, without event or mail: there is nobody left to
 * come, or to tell.
 */
export const eraseAttendee = async (work: Work, email: string): Promise<void> => {
  const { sql, accountId, now } = work
  const rows = await sql<BookingRow>(
    `select ${bookingColumns} from bookings where account_id = $1 and email = $2 order by id for update`,
    [accountId, email],
  )
  for (const row of rows) {
    if (row.status === 'confirmed' && row.endAt > now.getTime()) await end(work, row, null, null)
  }
  await sql(`update bookings set name = '', email = '', reason = null where account_id = $1 and email = $2`, [
    accountId,
    email,
  ])
}
