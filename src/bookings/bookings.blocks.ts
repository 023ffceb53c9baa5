import { z } from 'zod'
import { type BlockKind, recipientActor } from '../engagement/engagement.ts'
import { coalesceCalls } from '../lib/coalesce.ts'
import { parse } from '../lib/parse.ts'
import { oneLine, text } from '../lib/text.ts'
import { isSharedFailure } from '../store/database.ts'
import type { App } from '../store/work.ts'
import { bookStart } from './bookings.book.ts'
import { takenTimes } from './bookings.find.ts'
import { freeStarts, offeredUntil } from './bookings.slots.ts'

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

/** A block that offers start times; its answer books one of them (docs/reference/studio.md#bookings). */
const booking: BlockKind<'booking'> = {
  type: 'booking',

  async view(app, { accountId, projectId }, { id, props }) {
    const now = app.now().getTime()
    const target = { sql: app.sql, accountId, projectId, blockId: id }
    const range = { from: now, until: offeredUntil(props, now) + props.durationMinutes * 60_000 }
    const taken = await readTakenTimes(target, app.database, JSON.stringify([accountId, projectId, id]), range)
    return { slots: freeStarts(props, now, taken) }
  },

  async answer(app, sent, block, value) {
    const request = parse(Value, value, 'value')
    const isChanged = await app.work(sent.accountId, recipientActor, (work) =>
      bookStart(app, work, sent, block, request),
    )
    return { duplicate: !isChanged }
  },
}

// A list of several kinds: each is called only with blocks of its own type.
export const blocks: readonly BlockKind[] = [booking]
