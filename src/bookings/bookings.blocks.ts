import { z } from 'zod'
import { type BlockKind, recipientActor } from '../engagement/engagement.ts'
import { coalesceCalls } from '../lib/coalesce.ts'
import { parse } from '../lib/parse.ts'
import { oneLine, text } from '../lib/text.ts'
import { isSharedFailure } from '../store/database.ts'
import type { App } from '../store/work.ts'
import { bookStart } from './bookings.book.ts'
import { takenStarts } from './bookings.find.ts'
import { freeStarts, offeredUntil } from './bookings.slots.ts'

/** `startAt` in epoch ms; a name that is empty is none. */
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

const mostAtOnce = 64

/** What is taken of a block. Those who ask while others are told share the next statement, and see what was taken for any of them. */
const takenTogether = coalesceCalls(
  mostAtOnce,
  async ({ sql, accountId, ...block }: Target, asked: readonly { from: number; until: number }[]) => {
    const from = Math.min(...asked.map((one) => one.from))
    const until = Math.max(...asked.map((one) => one.until))
    const taken = await takenStarts({ sql, accountId }, block, from, until)
    return asked.map(() => taken)
  },
  { isShared: isSharedFailure },
)

/** A block that offers times and takes one (decisions.md, Bookings). */
const booking: BlockKind<'booking'> = {
  type: 'booking',

  async view(app, { accountId, projectId }, { id, props }) {
    const now = app.now().getTime()
    const target = { sql: app.sql, accountId, projectId, blockId: id }
    const asked = { from: now, until: offeredUntil(props, now) }
    const taken = await takenTogether(target, app.database, JSON.stringify([accountId, projectId, id]), asked)
    return { slots: freeStarts(props, now, taken) }
  },

  async answer(app, sent, block, value) {
    const wish = parse(Value, value, 'value')
    const isNews = await app.work(sent.accountId, recipientActor, (work) => bookStart(app, work, sent, block, wish))
    return { duplicate: !isNews }
  },
}

export const blocks: readonly BlockKind[] = [booking] as unknown as readonly BlockKind[]
