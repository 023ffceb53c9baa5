import { type BlockOf, recordInteraction, type SentMail, withdrawInteraction } from '../engagement/engagement.ts'
import { emit } from '../events/emit.ts'
import { newId } from '../lib/ids.ts'
import { lockKey } from '../lib/locks.ts'
import { conflict, type Problem } from '../lib/problem.ts'
import { oneLine } from '../lib/strings.ts'
import { typedRow } from '../store/column-types.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'
import { type BusySpan, isEntryOf } from './bookings.ics.ts'
import { type NotifyContext, notifyAttendee, withdrawReminders } from './bookings.notify.ts'
import { nextReminderAt } from './bookings.schedule.ts'
import { bufferOf, dayAround, isOffered, type Span } from './bookings.slots.ts'
import { type BookingRow, bookingColumns, bookingData, bookingTypes } from './bookings.view.ts'

/*
 * Order of locks: first the booking (locked or inserted), then its calendar. A transaction that holds the calendar's lock waits
 * for no booking and no slot, so two bookings that swap times can't deadlock.
 */

/** Limits the emails that an attendee can cause: each move sends one at the expense of the account. */
const maxMoves = 5
/** The same limit for attendees who cancel and book again. Counted by email and block. */
const maxBookingsPerDay = 10

/** The answer to a booking block. */
interface BookingRequest {
  /** epoch ms */
  startAt: number
  /** null: use the name in the email's merge data. */
  name: string | null
}

const timeUnavailable = (): Problem => conflict('This time is no longer available')

type BookingBlock = BlockOf<'booking'>

const lockingCurrent = preparedStatement(
  'lock-booking-of-answer',
  { row: typedRow<BookingRow>(bookingTypes), parameters: { accountId: 'text', messageId: 'text', blockId: 'text' } },
  `select ${bookingColumns} from bookings
   where account_id = :accountId and message_id = :messageId and block_id = :blockId and status = 'confirmed' and not is_replaced for update`,
)

/** Locks and returns the recipient's booking of the block: one that is neither cancelled nor replaced. */
const lockCurrentBooking = async (
  { sql, accountId }: Work,
  messageId: string,
  blockId: string,
): Promise<BookingRow | null> => {
  const [row] = await sql(lockingCurrent, { accountId, messageId, blockId })
  return row ?? null
}

// No booking is longer than a day (studio.blocks.ts).
const readingOverlaps = preparedStatement(
  'overlapping-bookings',
  {},
  `select from booking_slots
   where account_id = $1 and project_id = $2 and block_id = $3 and booking_id <> $4
     and start_at < $6 and end_at > $5 and start_at > $5::timestamptz - interval '1 day' limit 1`,
)

const lockCalendar = statement(
  'lock-calendar',
  { parameters: { calendar: 'text' } },
  `select from pg_advisory_xact_lock(${lockKey('calendar', ':calendar')})`,
)

const readingOfDay = preparedStatement(
  'bookings-of-calendar-day',
  {},
  `select from booking_slots
   where account_id = $1 and project_id = $2 and block_id = $3 and booking_id <> $4 and start_at >= $5 and start_at < $6
   limit $7`,
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
  const calendar = [accountId, projectId, blockId]
  await sql(lockCalendar, { calendar: calendar.join(' ') })
  const buffer = bufferOf(props)
  const taken = await sql(readingOverlaps, [...calendar, id, new Date(startAt - buffer), new Date(endAt + buffer)])
  if (taken.length > 0) throw timeUnavailable()
  const { maxPerDay } = props
  if (maxPerDay === undefined) return
  const day = dayAround(props, startAt)
  const booked = await sql(readingOfDay, [...calendar, id, new Date(day.startAt), new Date(day.endAt), maxPerDay])
  if (booked.length >= maxPerDay) throw timeUnavailable()
}

const insertingSlot = preparedStatement(
  'take-booking-time',
  {
    parameters: {
      accountId: 'text',
      projectId: 'text',
      blockId: 'text',
      startAt: 'timestamptz',
      endAt: 'timestamptz',
      id: 'text',
    },
  },
  `insert into booking_slots (account_id, project_id, block_id, start_at, end_at, booking_id)
   values (:accountId, :projectId, :blockId, :startAt, :endAt, :id)`,
)

/** Writes the slot of a new booking. Throws Problem `conflict` if the time overlaps another booking. */
const reserveTime = async (work: Work, booking: BookingRow, block: BookingBlock): Promise<void> => {
  const { id, projectId, blockId, startAt, endAt } = booking
  await requireFreeTime(work, booking, block, booking)
  await work.sql(insertingSlot, {
    accountId: work.accountId,
    projectId,
    blockId,
    startAt: new Date(startAt),
    endAt: new Date(endAt),
    id,
  })
}

/** Returns the attendee's name: from the answer, else from the merge field `name`, else the address. */
const nameOf = ({ mergeData, email }: SentMail, name: string | null): string =>
  name ?? ((Object.hasOwn(mergeData, 'name') && oneLine(mergeData.name!, 200)) || email)

const spanOf = ({ props }: BookingBlock, startAt: number): Span => ({
  startAt,
  endAt: startAt + props.durationMinutes * 60_000,
})

const readingRecent = preparedStatement(
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
  const recent = await sql(readingRecent, { accountId, messageId, blockId, now, maxBookingsPerDay })
  if (recent.length === maxBookingsPerDay) throw conflict('Too many bookings were made here today: try again tomorrow')
}

const inserting = preparedStatement<BookingRow>(
  'insert-booking',
  bookingTypes,
  `insert into bookings (account_id, id, project_id, message_id, block_id, status, title, start_at, end_at, timezone, name,
     email, sequence, created_at, updated_at, remind_at)
   values ($1, $2, $3, $4, $5, 'confirmed', $6, $7, $8, $9, $10, $11, 0, $12, $12, $13)
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
  const [row] = await sql(inserting, [
    ...[accountId, newId('bkg', now.getTime()), sent.projectId, sent.id, block.id, block.props.title],
    ...[
      new Date(startAt),
      new Date(endAt),
      block.props.timezone,
      nameOf(sent, name),
      sent.email,
      now,
      nextReminderAt(startAt, now.getTime()),
    ],
  ])
  return row ?? null
}

const movingSlot = preparedStatement(
  'move-booking-time',
  {},
  `update booking_slots set start_at = $5, end_at = $6
   where account_id = $1 and project_id = $2 and block_id = $3 and start_at = $4`,
)

const moving = preparedStatement<BookingRow>(
  'move-booking',
  bookingTypes,
  `update bookings set start_at = $3, end_at = $4, name = coalesce($5, name), sequence = sequence + 1, updated_at = $6,
     remind_at = $7
   where account_id = $1 and id = $2 returning ${bookingColumns}`,
)

const moveBooking = async (
  work: Work,
  current: BookingRow,
  block: BookingBlock,
  { startAt, name }: BookingRequest,
): Promise<BookingRow> => {
  const { sql, accountId, now } = work
  const span = spanOf(block, startAt)
  const times = [new Date(startAt), new Date(span.endAt)]
  await requireFreeTime(work, current, block, span)
  const { projectId, blockId } = current
  await sql(movingSlot, [accountId, projectId, blockId, new Date(current.startAt), ...times])
  const remindAt = nextReminderAt(startAt, now.getTime())
  const [row] = await sql(moving, [accountId, current.id, ...times, name, now, remindAt])
  return row!
}

const replacing = preparedStatement(
  'replace-booking',
  { parameters: { accountId: 'text', id: 'text' } },
  'update bookings set is_replaced = true where account_id = :accountId and id = :id',
)

/** Marks a locked booking that has ended as replaced, and withdraws its answer, so that the block can be answered again. */
const replaceEnded = async (work: Work, { id, messageId, blockId }: BookingRow): Promise<void> => {
  await work.sql(replacing, { accountId: work.accountId, id })
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
 * start. `busy`: times of the host's own calendar. Throws Problem `conflict` if the time is not offered, taken or busy, or if a limit of
 * moves or bookings is reached.
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
  if (current) await withdrawReminders(work, current)
  await notifyAttendee(app, work, created ? 'booked' : 'moved', booking)
  return true
}
