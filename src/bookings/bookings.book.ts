import { type BlockOf, recordInteraction, type SentMail, withdrawInteraction } from '../engagement/engagement.ts'
import { emit } from '../events/emit.ts'
import { newId } from '../lib/ids.ts'
import { lockKey } from '../lib/locks.ts'
import { conflict, type Problem } from '../lib/problem.ts'
import { oneLine } from '../lib/strings.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import { columns, types } from '../store/tables.ts'
import type { Work } from '../store/work.ts'
import { bookingSlots, bookings } from './bookings.columns.ts'
import { type BusySpan, isEntryOf } from './bookings.ics.ts'
import { type NotifyContext, notifyAttendee, withdrawNotices } from './bookings.notify.ts'
import { nextReminderAt } from './bookings.schedule.ts'
import { bufferOf, dayAround, isOffered, type Span } from './bookings.slots.ts'
import { type BookingRow, bookingColumns, bookingData, bookingTypes } from './bookings.view.ts'

/*
 * A booked time is a row of `booking_slots`, written while the transaction holds the calendar's advisory lock until its commit, so the
 * bookings of one calendar are written one after another. An exclusion constraint would need `btree_gist`, which a server may lack,
 * and moves that cross would deadlock on it: a move may overlap the booking's own former time.
 *
 * Order of locks: first the booking (locked or inserted), then its calendar. A transaction that holds the calendar's lock waits
 * for no booking and no slot, so two bookings that swap times can't deadlock.
 */

/** Limits the emails that an attendee can cause: each move sends one at the expense of the account. */
const maxMoves = 5
/** The same limit for attendees who cancel and book again. It is counted by email and block. */
const maxBookingsPerDay = 10

/** The answer to a booking block. */
interface BookingRequest {
  /** epoch ms */
  startAt: number
  /** It is null for the name in the email's merge data. */
  name: string | null
}

const timeUnavailable = (): Problem => conflict('This time is no longer available')

type BookingBlock = BlockOf<'booking'>

const lockBookingOfAnswer = preparedStatement(
  'lock-booking-of-answer',
  { row: bookingTypes, parameters: { accountId: 'text', messageId: 'text', blockId: 'text' } },
  `select ${bookingColumns} from bookings
   where account_id = :accountId and message_id = :messageId and block_id = :blockId and status = 'confirmed' and not is_replaced for update`,
)

/** Locks and returns the recipient's booking of the block: one that is neither cancelled nor replaced. */
const lockCurrentBooking = async (
  { sql, accountId }: Work,
  messageId: string,
  blockId: string,
): Promise<BookingRow | null> => {
  const [row] = await sql(lockBookingOfAnswer, { accountId, messageId, blockId })
  return row ?? null
}

const otherSlots = types(bookings, 'accountId', 'projectId', 'blockId', 'id')

// No booking is longer than a day (studio.blocks.ts).
const findOverlaps = preparedStatement(
  'overlapping-bookings',
  { parameters: { ...otherSlots, from: 'timestamptz', until: 'timestamptz' } },
  `select from booking_slots
   where account_id = :accountId and project_id = :projectId and block_id = :blockId and booking_id <> :id
     and start_at < :until and end_at > :from and start_at > :from::timestamptz - interval '1 day' limit 1`,
)

const lockCalendar = statement(
  'lock-calendar',
  { parameters: { calendar: 'text' } },
  `select from pg_advisory_xact_lock(${lockKey('calendar', ':calendar')})`,
)

const readBookingsOfDay = preparedStatement(
  'bookings-of-calendar-day',
  { parameters: { ...otherSlots, from: 'timestamptz', until: 'timestamptz', limit: 'int8' } },
  `select from booking_slots
   where account_id = :accountId and project_id = :projectId and block_id = :blockId and booking_id <> :id
     and start_at >= :from and start_at < :until limit :limit`,
)

/**
 * Locks the booking's calendar. Throws Problem `conflict` if the time overlaps another booking or its buffer, or if the day has all of
 * its bookings.
 */
const requireFreeTime = async (
  { sql, accountId }: Work,
  { id, projectId, blockId }: BookingRow,
  { props }: BookingBlock,
  { startAt, endAt }: Span,
): Promise<void> => {
  await sql(lockCalendar, { calendar: `${accountId} ${projectId} ${blockId}` })
  const others = { accountId, projectId, blockId, id }
  const buffer = bufferOf(props)
  const [from, until] = [new Date(startAt - buffer), new Date(endAt + buffer)]
  const taken = await sql(findOverlaps, { ...others, from, until })
  if (taken.length > 0) throw timeUnavailable()
  const { maxPerDay } = props
  if (maxPerDay === undefined) return
  const day = dayAround(props, startAt)
  const limits = { from: new Date(day.startAt), until: new Date(day.endAt), limit: maxPerDay }
  const booked = await sql(readBookingsOfDay, { ...others, ...limits })
  if (booked.length >= maxPerDay) throw timeUnavailable()
}

const slot = columns(bookingSlots, ['accountId', 'projectId', 'blockId', 'startAt', 'endAt', 'bookingId'])

const takeBookingTime = preparedStatement(
  'take-booking-time',
  { parameters: slot.types },
  `insert into booking_slots (${slot.names}) values (${slot.values})`,
)

/** Writes the slot of a new booking. Throws Problem `conflict` if the time overlaps another booking. */
const reserveTime = async (work: Work, booking: BookingRow, block: BookingBlock): Promise<void> => {
  const { id, projectId, blockId, startAt, endAt } = booking
  await requireFreeTime(work, booking, block, booking)
  await work.sql(takeBookingTime, {
    accountId: work.accountId,
    projectId,
    blockId,
    startAt: new Date(startAt),
    endAt: new Date(endAt),
    bookingId: id,
  })
}

/** Returns the attendee's name: from the answer, else from the merge field `name`, else the address. */
const nameOf = ({ mergeData, email }: SentMail, name: string | null): string =>
  name ?? ((Object.hasOwn(mergeData, 'name') && oneLine(mergeData.name!, 200)) || email)

const spanOf = ({ props }: BookingBlock, startAt: number): Span => ({
  startAt,
  endAt: startAt + props.durationMinutes * 60_000,
})

const readRecentBookings = preparedStatement(
  'bookings-of-a-day',
  {
    parameters: {
      accountId: 'text',
      messageId: 'text',
      blockId: 'text',
      now: 'timestamptz',
      maxBookingsPerDay: 'int8',
    },
  },
  `select from bookings
   where account_id = :accountId and message_id = :messageId and block_id = :blockId and created_at > :now::timestamptz - interval '1 day' limit :maxBookingsPerDay`,
)

/** Throws Problem `conflict` if the email has reached its limit of bookings in 24 hours. */
const requireBelowDailyLimit = async (
  { sql, accountId, now }: Work,
  messageId: string,
  blockId: string,
): Promise<void> => {
  const recent = await sql(readRecentBookings, { accountId, messageId, blockId, now, maxBookingsPerDay })
  if (recent.length === maxBookingsPerDay) throw conflict('Too many bookings were made here today: try again tomorrow')
}

const newBooking = columns(bookings, [
  'accountId',
  'id',
  'projectId',
  'messageId',
  'blockId',
  'title',
  'startAt',
  'endAt',
  'timezone',
  'name',
  'email',
  'createdAt',
  'remindAt',
])

const addBooking = preparedStatement(
  'insert-booking',
  { row: bookingTypes, parameters: newBooking.types },
  `insert into bookings (${newBooking.names}, status, sequence, updated_at)
   values (${newBooking.values}, 'confirmed', 0, :createdAt)
   on conflict do nothing returning ${bookingColumns}`,
)

/** Returns null if the recipient already has a booking of this block. */
const insertBooking = async (
  { sql, accountId, now }: Work,
  sent: SentMail,
  block: BookingBlock,
  { startAt, name }: BookingRequest,
): Promise<BookingRow | null> => {
  const { endAt } = spanOf(block, startAt)
  const { title, timezone } = block.props
  const [row] = await sql(addBooking, {
    accountId,
    id: newId('bkg', now.getTime()),
    projectId: sent.projectId,
    messageId: sent.id,
    blockId: block.id,
    title,
    startAt: new Date(startAt),
    endAt: new Date(endAt),
    timezone,
    name: nameOf(sent, name),
    email: sent.email,
    createdAt: now,
    remindAt: nextReminderAt(startAt, now.getTime()),
  })
  return row ?? null
}

const moveBookingTime = preparedStatement(
  'move-booking-time',
  {
    parameters: {
      ...types(bookingSlots, 'accountId', 'projectId', 'blockId', 'startAt', 'endAt'),
      from: 'timestamptz',
    },
  },
  `update booking_slots set start_at = :startAt, end_at = :endAt
   where account_id = :accountId and project_id = :projectId and block_id = :blockId and start_at = :from`,
)

const moved = columns(bookings, ['startAt', 'endAt', 'updatedAt', 'remindAt'])

const rebook = preparedStatement(
  'move-booking',
  { row: bookingTypes, parameters: { accountId: 'text', id: 'text', ...moved.types, name: 'text?' } },
  `update bookings set ${moved.set}, name = coalesce(:name, name), sequence = sequence + 1
   where account_id = :accountId and id = :id returning ${bookingColumns}`,
)

const moveBooking = async (
  work: Work,
  current: BookingRow,
  block: BookingBlock,
  { startAt, name }: BookingRequest,
): Promise<BookingRow> => {
  const { sql, accountId, now } = work
  const span = spanOf(block, startAt)
  const times = { startAt: new Date(startAt), endAt: new Date(span.endAt) }
  await requireFreeTime(work, current, block, span)
  const { projectId, blockId } = current
  await sql(moveBookingTime, { accountId, projectId, blockId, from: new Date(current.startAt), ...times })
  const remindAt = nextReminderAt(startAt, now.getTime())
  const [row] = await sql(rebook, { accountId, id: current.id, ...times, name, updatedAt: now, remindAt })
  return row!
}

const replaceBooking = preparedStatement(
  'replace-booking',
  { parameters: { accountId: 'text', id: 'text' } },
  'update bookings set is_replaced = true where account_id = :accountId and id = :id',
)

/** Marks a locked booking that has ended as replaced, and withdraws its answer, so that the block can be answered again. */
const replaceEnded = async (work: Work, { id, messageId, blockId }: BookingRow): Promise<void> => {
  await work.sql(replaceBooking, { accountId: work.accountId, id })
  await withdrawInteraction(work, messageId, 'booking', blockId)
}

/** Returns whether the host is busy at a time or within its buffer. The entry of the recipient's own booking does not count. */
const isBusy = (
  block: BookingBlock,
  startAt: number,
  busy: readonly BusySpan[],
  own: Pick<BookingRow, 'id'> | null,
): boolean => {
  const { endAt } = spanOf(block, startAt)
  const buffer = bufferOf(block.props)
  return busy.some((one) => one.startAt < endAt + buffer && one.endAt > startAt - buffer && !isEntryOf(one, own?.id))
}

/**
 * Books a start time for the recipient of an email, or moves the recipient's booking of that block, and emails the attendee
 * (docs/reference/studio.md#bookings). A booking that has ended is kept and a new one is created. A new booking fires
 * `booking.created` and `interaction.received`; a move fires nothing. Returns false if the recipient has already booked this
 * start. `busy` are times of the host's own calendar. Throws Problem `conflict` if the time is not offered, taken or busy, or if
 * a limit of moves or bookings is reached.
 */
export const bookStart = async (
  app: NotifyContext,
  work: Work,
  sent: SentMail,
  block: BookingBlock,
  request: BookingRequest,
  busy: readonly BusySpan[] = [],
): Promise<boolean> => {
  const now = work.now.getTime()
  const last = await lockCurrentBooking(work, sent.id, block.id)
  if (last?.startAt === request.startAt) return false
  if (!isOffered(block.props, now, request.startAt)) throw timeUnavailable()
  const current = last && last.endAt > now ? last : null
  if (current && current.sequence >= maxMoves) throw conflict("This booking can't be moved any more")
  if (isBusy(block, request.startAt, busy, current)) throw timeUnavailable()
  if (!current) await requireBelowDailyLimit(work, sent.id, block.id)
  if (last && !current) await replaceEnded(work, last)
  const created = current ? null : await insertBooking(work, sent, block, request)
  // A concurrent request of the same recipient inserted a booking first: start again with that one.
  if (!current && !created) return bookStart(app, work, sent, block, request, busy)
  if (created) await reserveTime(work, created, block)
  const booking = created ?? (await moveBooking(work, current!, block, request))
  if (created) await emit(work, 'booking.created', () => [{ booking: bookingData(created) }])
  const value = { startAt: request.startAt }
  await recordInteraction(work, sent, { kind: 'booking', blockId: block.id, value, onOther: 'move' })
  if (current) await withdrawNotices(work, current)
  await notifyAttendee(app, work, created ? 'booked' : 'moved', booking)
  return true
}
