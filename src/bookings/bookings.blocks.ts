import { z } from 'zod'
import { type BlockKind, type Reader, recipientWork } from '../engagement/engagement.ts'
import { coalesceCalls } from '../lib/coalesce.ts'
import { parse } from '../lib/parse.ts'
import { oneLine } from '../lib/strings.ts'
import { text } from '../lib/text.ts'
import { isSharedFailure } from '../store/database.ts'
import type { App } from '../store/work.ts'
import { bookStart } from './bookings.book.ts'
import { busyTimes } from './bookings.busy.ts'
import { movableBooking, takenTimes } from './bookings.find.ts'
import { isEntryOf } from './bookings.ics.ts'
import { linksOf } from './bookings.notify.ts'
import { bufferOf, type Calendar, dayAround, freeStarts, offeredUntil, type Span } from './bookings.slots.ts'

/** `startAt` in epoch ms. An empty name is read as no name. */
const Value = z.object({
  startAt: z.int(),
  name: text(200)
    .transform((name) => oneLine(name, 200))
    .nullish()
    .transform((name) => name || null),
})

interface Target {
  sql: App['sql']
  accountId: string
  projectId: string
  blockId: string
}

/** Start times on the page, which shows months: a program that reads 200 of them asks again later. */
const maxPageStarts = 2_000

const maxCallsPerStatement = 64

/**
 * Reads the taken times of a block. Calls that arrive while a statement is under way share the next one, which covers all of
 * their time ranges.
 */
const readTakenTimes = coalesceCalls(
  maxCallsPerStatement,
  async ({ sql, accountId, ...block }: Target, ranges: readonly { from: number; until: number }[]) => {
    const from = Math.min(...ranges.map((range) => range.from))
    const until = Math.max(...ranges.map((range) => range.until))
    const taken = await takenTimes({ sql, accountId }, block, from, until)
    return ranges.map(() => taken)
  },
  { isShared: isSharedFailure },
)

/** Returns the days of a calendar that a range touches, as a range. */
const daysOf = (calendar: Calendar, from: number, until: number): { from: number; until: number } => ({
  from: dayAround(calendar, from).startAt,
  until: dayAround(calendar, until).endAt,
})

/** Returns the booking that the viewer can move, if the page shows it, or its buffer or its place in a day matters. */
const ownBooking = async (
  { sql, now }: App,
  { accountId, blockId }: { accountId: string; blockId: string },
  messageId: string,
  { bufferMinutes, maxPerDay, busyUrl }: Calendar & { busyUrl?: string | undefined },
  reader: Reader,
): Promise<(Span & { id: string }) | undefined> => {
  const isFurther = bufferMinutes !== undefined || maxPerDay !== undefined || busyUrl !== undefined
  if (reader === 'program' && !isFurther) return undefined
  return movableBooking({ sql, accountId }, messageId, blockId, now())
}

/** A block that offers start times; its answer books one of them (docs/reference/studio.md#bookings). */
const booking: BlockKind<'booking'> = {
  type: 'booking',

  async view(app, { accountId, projectId, id: messageId }, { id, props }, reader) {
    const now = app.now().getTime()
    const block = { accountId, projectId, blockId: id }
    const [busy, own] = await Promise.all([
      busyTimes(app, block, props),
      ownBooking(app, block, messageId, props, reader),
    ])
    const reach = bufferOf(props)
    const until = offeredUntil(props, now) + props.durationMinutes * 60_000 + reach
    // The first and the last day count from midnight to midnight.
    const range = props.maxPerDay === undefined ? { from: now - reach, until } : daysOf(props, now - reach, until)
    const key = JSON.stringify([accountId, projectId, id])
    const taken = await readTakenTimes({ sql: app.sql, ...block }, app.database, key, range)
    const others = busy.filter((one) => !isEntryOf(one, own?.id))
    // The address of the host's calendar is not for recipients.
    const further = { busy: others, own }
    if (reader === 'program') return { slots: freeStarts(props, now, taken, undefined, further), busyUrl: undefined }
    const page = own && new URL(linksOf(app, accountId, { id: own.id, messageId, blockId: id }).cancel).pathname
    return { slots: freeStarts(props, now, taken, maxPageStarts, further), busyUrl: undefined, booking: page }
  },

  async answer(app, sent, block, value) {
    const request = parse(Value, value, 'value')
    const { accountId, projectId } = sent
    // Read before the unit of work, which uses no socket.
    const busy = await busyTimes(app, { accountId, projectId, blockId: block.id }, block.props)
    const isChanged = await recipientWork(app, sent, (work) => bookStart(app, work, sent, block, request, busy))
    return { duplicate: !isChanged }
  },
}

// A list of several kinds: each is called only with blocks of its own type.
export const blocks: readonly BlockKind[] = [booking]
