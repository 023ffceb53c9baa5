import { z } from 'zod'
import { type BlockKind, recipientActor } from '../engagement/engagement.ts'
import { parse } from '../lib/parse.ts'
import { text } from '../lib/text.ts'
import { bookStart } from './bookings.book.ts'
import { takenStarts } from './bookings.find.ts'
import { freeStarts, offeredUntil } from './bookings.slots.ts'

const oneLine = (name: string): string => name.replace(/[\p{Cc}\s]+/gu, ' ').trim()

/** `startAt` in epoch ms; a name that is empty is none. */
const Value = z.object({
  startAt: z.int(),
  name: text(200)
    .transform(oneLine)
    .nullish()
    .transform((name) => name || null),
})

/** A block that offers times and takes one (decisions.md, Bookings). */
const booking: BlockKind<'booking'> = {
  type: 'booking',

  async view(app, { accountId, projectId }, { id, props }) {
    const now = app.now().getTime()
    const calendar = { projectId, blockId: id }
    const taken = await takenStarts({ sql: app.sql, accountId }, calendar, now, offeredUntil(props, now))
    return { slots: freeStarts(props, now, taken) }
  },

  async answer(app, sent, block, value) {
    const wish = parse(Value, value, 'value')
    const isNews = await app.work(sent.accountId, recipientActor, (work) => bookStart(app, work, sent, block, wish))
    return { duplicate: !isNews }
  },
}

export const blocks: readonly BlockKind[] = [booking] as unknown as readonly BlockKind[]
