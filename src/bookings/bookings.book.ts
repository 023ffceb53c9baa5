import { type BlockOf, recordInteraction, type SentMail } from '../engagement/engagement.ts'
import { emit } from '../events/emit.ts'
import { newId } from '../lib/ids.ts'
import { conflict, type Problem } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'
import { isOffered } from './bookings.slots.ts'
import { type Teller, tellAttendee } from './bookings.tell.ts'
import { type BookingRow, bookingColumns, bookingData } from './bookings.view.ts'

/*
 * Who waits for whom: a booking is locked, or made, before its start is taken, and a start is taken before the old one is
 * freed. Who has taken a start waits for no booking and no start after that; so moves that cross can't wait in a circle.
 */

/** What an attendee asks for. */
export interface Wish {
  /** epoch ms */
  startAt: number
  /** null: as the mail knows it. */
  name: string | null
}

const goneSentence = 'This time is no longer available'
const gone = (): Problem => conflict(goneSentence)

type BookingBlock = BlockOf<'booking'>

const lockHeld = async ({ sql, accountId }: Work, messageId: string, blockId: string): Promise<BookingRow | null> => {
  const [row] = await sql<BookingRow>(
    `select ${bookingColumns} from bookings
     where account_id = $1 and message_id = $2 and block_id = $3 and status = 'confirmed' for update`,
    [accountId, messageId, blockId],
    'lock-booking-of-answer',
  )
  return row ?? null
}

/** Throws Problem `conflict` where another has it. */
const takeStart = async ({ sql, accountId }: Work, booking: BookingRow): Promise<void> => {
  const { id, projectId, blockId, startAt } = booking
  const taken = await sql(
    `insert into booking_slots (account_id, project_id, block_id, start_at, booking_id)
     values ($1, $2, $3, $4, $5) on conflict do nothing returning 1`,
    [accountId, projectId, blockId, new Date(startAt), id],
    'take-booking-start',
  )
  if (taken.length === 0) throw gone()
}

/** The name that the attendee goes by. */
const nameOf = ({ mergeData, email }: SentMail, name: string | null): string =>
  name ??
  ((Object.hasOwn(mergeData, 'name') &&
    mergeData
      .name!.replace(/[\p{Cc}\s]+/gu, ' ')
      .trim()
      .slice(0, 200)) ||
    email)

const endOf = ({ props }: BookingBlock, startAt: number): number => startAt + props.durationMinutes * 60_000

/** null: the mail has one already. */
const insertBooking = async (
  { sql, accountId, now }: Work,
  sent: SentMail,
  block: BookingBlock,
  { startAt, name }: Wish,
): Promise<BookingRow | null> => {
  const [row] = await sql<BookingRow>(
    `insert into bookings (account_id, id, project_id, message_id, block_id, status, title, start_at, end_at, timezone, name,
       email, sequence, created_at, updated_at)
     values ($1, $2, $3, $4, $5, 'confirmed', $6, $7, $8, $9, $10, $11, 0, $12, $12)
     on conflict do nothing returning ${bookingColumns}`,
    [
      ...[accountId, newId('bkg', now.getTime()), sent.projectId, sent.id, block.id, block.props.title],
      ...[
        new Date(startAt),
        new Date(endOf(block, startAt)),
        block.props.timezone,
        nameOf(sent, name),
        sent.email,
        now,
      ],
    ],
    'insert-booking',
  )
  return row ?? null
}

const moveBooking = async (
  work: Work,
  held: BookingRow,
  block: BookingBlock,
  { startAt, name }: Wish,
): Promise<BookingRow> => {
  const { sql, accountId, now } = work
  await takeStart(work, { ...held, startAt })
  await sql(
    'delete from booking_slots where account_id = $1 and project_id = $2 and block_id = $3 and start_at = $4',
    [accountId, held.projectId, held.blockId, new Date(held.startAt)],
    'free-booking-start',
  )
  const [row] = await sql<BookingRow>(
    `update bookings set start_at = $3, end_at = $4, name = coalesce($5, name), sequence = sequence + 1, updated_at = $6
     where account_id = $1 and id = $2 returning ${bookingColumns}`,
    [accountId, held.id, new Date(startAt), new Date(endOf(block, startAt)), name, now],
    'move-booking',
  )
  return row!
}

/**
 * Books a start for the recipient of a mail, or moves what the recipient has booked in that block (decisions.md, Bookings); the
 * attendee is mailed. A first booking fires `booking.created` and `interaction.received`, a move nothing. Gives false for the
 * start that the recipient has already. Throws Problem `conflict` for one that is not offered, or another's.
 */
export const bookStart = async (
  app: Teller,
  work: Work,
  sent: SentMail,
  block: BookingBlock,
  wish: Wish,
): Promise<boolean> => {
  const held = await lockHeld(work, sent.id, block.id)
  if (held?.startAt === wish.startAt) return false
  if (!isOffered(block.props, work.now.getTime(), wish.startAt)) throw gone()
  const made = held ? null : await insertBooking(work, sent, block, wish)
  // The recipient booked at this very moment by another request: it is seen now.
  if (!held && !made) return bookStart(app, work, sent, block, wish)
  if (made) await takeStart(work, made)
  const booking = made ?? (await moveBooking(work, held!, block, wish))
  if (made) await emit(work, 'booking.created', () => [{ booking: bookingData(made) }])
  const value = { startAt: wish.startAt }
  await recordInteraction(work, sent, { kind: 'booking', blockId: block.id, value, onOther: 'move' })
  await tellAttendee(app, work, made ? 'booked' : 'moved', booking)
  return true
}
