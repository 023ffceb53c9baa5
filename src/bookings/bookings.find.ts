import { decodeCursor, encodeCursor, idOfCursor, type Page, pageOf } from '../lib/cursor.ts'
import type { PageRequest } from '../lib/page-request.ts'
import { invalid, noSuch } from '../lib/problem.ts'
import { inEpochMs } from '../store/epoch-ms.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import type { AccountSql, Work } from '../store/work.ts'
import { type BookingRow, type BookingView, bookingColumns, bookingTypes, viewBooking } from './bookings.view.ts'

interface BookingFilter {
  status: BookingView['status'] | null
  /** Normalised. */
  email: string | null
}

const readPage = statement(
  'list-bookings',
  {
    row: bookingTypes,
    parameters: { accountId: 'text', before: 'text?', status: 'text?', email: 'text?', limit: 'int8' },
  },
  `select ${bookingColumns} from bookings
   where account_id = :accountId and (:before::text is null or id < :before) and (:status::text is null or status = :status)
     and (:email::text is null or email = :email)
   order by id desc limit :limit`,
)

/** Returns a page of the account's bookings, newest first. Throws Problem `invalid` for a bad cursor. */
export const listBookings = async (
  { sql, accountId }: Work,
  { status, email }: BookingFilter,
  { limit, cursor }: PageRequest,
): Promise<Page<BookingView>> => {
  const before = idOfCursor('bkg', cursor)
  const rows = await sql(readPage, { accountId, before, status, email, limit: limit + 1 })
  return pageOf(rows.map(viewBooking), limit)
}

const readUpcoming = statement(
  'list-upcoming-bookings',
  {
    row: bookingTypes,
    parameters: {
      accountId: 'text',
      now: 'timestamptz',
      after: 'timestamptz?',
      id: 'text',
      email: 'text?',
      limit: 'int8',
    },
  },
  `select ${bookingColumns} from bookings
   where account_id = :accountId and status = 'confirmed' and start_at >= :now and (:after::timestamptz is null or (start_at, id) > (:after, :id))
     and (:email::text is null or email = :email)
   order by start_at, id limit :limit`,
)

/** Returns a page of confirmed bookings in the future, earliest first. Throws Problem `invalid` for a bad cursor. */
export const listUpcoming = async (
  { sql, accountId, now }: Work,
  email: string | null,
  { limit, cursor }: PageRequest,
): Promise<Page<BookingView>> => {
  const [start = '', id = ''] = cursor === undefined ? [] : decodeCursor(cursor, 2)
  if (cursor !== undefined && !/^\d{1,15}$/.test(start)) throw invalid('cursor is not valid')
  const after = cursor === undefined ? null : new Date(Number(start))
  const rows = await sql(readUpcoming, { accountId, now, after, id, email, limit: limit + 1 })
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  const isMore = rows.length > limit && last
  return { rows: page.map(viewBooking), nextCursor: isMore ? encodeCursor([String(last.startAt), last.id]) : null }
}

const readBooking = statement(
  'read-booking',
  { row: bookingTypes, parameters: { accountId: 'text', id: 'text' } },
  `select ${bookingColumns} from bookings where account_id = :accountId and id = :id`,
)

/** Returns a booking by its id, or null if there is none. */
export const findBooking = async ({ sql, accountId }: AccountSql, id: string): Promise<BookingRow | null> =>
  (await sql(readBooking, { accountId, id }))[0] ?? null

/** Returns a booking by its id. Throws Problem `not_found`. */
export const showBooking = async (reader: AccountSql, id: string): Promise<BookingView> => {
  const row = await findBooking(reader, id)
  if (!row) throw noSuch('booking', id, { hint: 'svc bookings list' })
  return viewBooking(row)
}

/** A booked time; `startAt` and `endAt` in epoch ms. */
interface TakenTime {
  startAt: number
  endAt: number
}

const readTakenTimes = preparedStatement(
  'taken-booking-times',
  {
    row: { startAt: 'timestamptz', endAt: 'timestamptz' },
    parameters: { accountId: 'text', projectId: 'text', blockId: 'text', from: 'timestamptz', until: 'timestamptz' },
  },
  // No booking is longer than a day (studio.blocks.ts).
  `select start_at as "startAt", end_at as "endAt" from booking_slots
   where account_id = :accountId and project_id = :projectId and block_id = :blockId
     and start_at > :from::timestamptz - interval '1 day' and end_at > :from and start_at < :until
   order by start_at`,
)

/** Returns the taken times of a calendar between `from` and `until` (epoch ms), in order and without overlaps. */
export const takenTimes = async (
  { sql, accountId }: AccountSql,
  { projectId, blockId }: { projectId: string; blockId: string },
  from: number,
  until: number,
): Promise<TakenTime[]> => {
  const rows = await sql(readTakenTimes, {
    accountId,
    projectId,
    blockId,
    from: new Date(from),
    until: new Date(until),
  })
  return rows.map(inEpochMs)
}

const findMovable = preparedStatement(
  'movable-booking',
  {
    row: { id: 'text', startAt: 'timestamptz', endAt: 'timestamptz' },
    parameters: { accountId: 'text', messageId: 'text', blockId: 'text', now: 'timestamptz' },
  },
  `select id, start_at as "startAt", end_at as "endAt" from bookings
   where account_id = :accountId and message_id = :messageId and block_id = :blockId and status = 'confirmed' and not is_replaced and end_at > :now`,
)

/** Returns the recipient's booking of a block that has not ended, or undefined if there is none. */
export const movableBooking = async (
  { sql, accountId }: AccountSql,
  messageId: string,
  blockId: string,
  now: Date,
): Promise<(TakenTime & { id: string }) | undefined> => {
  const [row] = await sql(findMovable, { accountId, messageId, blockId, now })
  return row && inEpochMs(row)
}
