import { z } from 'zod'
import type { EmittedEvent } from '../events/events.ts'
import { EventName } from '../events/shapes.ts'
import { idOfCursor, type Page, pageOf } from '../lib/cursor.ts'
import { idAt } from '../lib/ids.ts'
import type { PageRequest } from '../lib/page-request.ts'
import { noSuch } from '../lib/problem.ts'
import { statement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'

/** A filter of events. `since` is in epoch ms. */
export const EventFilter = z.object({ type: EventName.optional(), since: z.int().optional() })

const listPayloads = statement(
  'list-events',
  {
    row: { payload: 'text' },
    parameters: { accountId: 'text', id: 'text', cursor: 'text?', type: 'text?', limit: 'int8' },
  },
  `select payload from events
   where account_id = :accountId and id >= :id and (:cursor::text is null or id < :cursor) and (:type::text is null or type = :type)
   order by id desc limit :limit`,
)

/** Returns a page of the stored events, newest first, as they are delivered. Throws Problem `invalid` for a bad cursor. */
export const listEvents = async (
  { sql, accountId }: Work,
  { type, since }: z.output<typeof EventFilter>,
  { limit, cursor }: PageRequest,
): Promise<Page<EmittedEvent>> => {
  const rows = await sql(listPayloads, {
    accountId,
    id: idAt('evt', since ?? 0),
    cursor: idOfCursor('evt', cursor),
    type: type ?? null,
    limit: limit + 1,
  })
  return pageOf(
    rows.map((row) => JSON.parse(row.payload)),
    limit,
  )
}

const findRecentEvents = statement(
  'find-recent-events',
  { row: { id: 'text' }, parameters: { accountId: 'text', since: 'text', type: 'text?', maxRead: 'int8' } },
  'select id from events where account_id = :accountId and id >= :since and (:type::text is null or type = :type) order by id desc limit :maxRead',
)

const readPayloads = statement(
  'read-events',
  { row: { payload: 'text' }, parameters: { accountId: 'text', ids: '_text' } },
  'select payload from events where account_id = :accountId and id = any(:ids) order by id',
)

/** Maximum number of events that each call reads, newest first. */
const maxRead = 5000
/** The time that a transaction can take from an event's id to its commit. Older events are already visible. */
const maxCommitDelayMs = 60_000

/**
 * Returns a function that returns the events that were committed since its previous call, oldest first. The first call returns the
 * events since `sinceMs` (epoch ms).
 */
export const newEvents = (
  { type }: z.output<typeof EventFilter>,
  sinceMs: number,
): ((work: Work) => Promise<EmittedEvent[]>) => {
  let seen: Set<string> | undefined
  return async ({ sql, accountId, now }) => {
    const oldestNewMs = now.getTime() - maxCommitDelayMs
    const since = idAt('evt', seen ? oldestNewMs : Math.min(oldestNewMs, sinceMs))
    const found = await sql(findRecentEvents, { accountId, since, type: type ?? null, maxRead })
    const ids = found.map(({ id }) => id)
    const unseen = ids.filter((id) => (seen ? !seen.has(id) : id >= idAt('evt', sinceMs)))
    seen = new Set(ids)
    if (unseen.length === 0) return []
    const rows = await sql(readPayloads, { accountId, ids: unseen })
    return rows.map((row) => JSON.parse(row.payload))
  }
}

/** Returns an event as it is delivered. Throws Problem `not_found`. */
export const showEvent = async ({ sql, accountId }: Work, id: string): Promise<EmittedEvent> => {
  const [row] = await sql(readPayloads, { accountId, ids: [id] })
  if (!row) throw noSuch('event', id, { hint: 'svc events list' })
  return JSON.parse(row.payload)
}
