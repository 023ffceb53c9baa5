import { z } from 'zod'
import { EventName } from '../events/shapes.ts'
import { idOfCursor, type Page, pageOf } from '../lib/cursor.ts'
import { idAt } from '../lib/ids.ts'
import type { PageRequest } from '../lib/page.ts'
import { missing } from '../lib/problem.ts'
import type { EmittedEvent, Work } from '../store/work.ts'

/** `since` in epoch ms. */
export const EventFilter = z.object({ type: EventName.optional(), since: z.int().optional() })

/** A page of the events that were kept, newest first, as they are delivered. Throws `invalid` for a bad cursor. */
export const listEvents = async (
  { sql, accountId }: Work,
  { type, since }: z.output<typeof EventFilter>,
  { limit, cursor }: PageRequest,
): Promise<Page<EmittedEvent>> => {
  const rows = await sql<{ payload: string }>(
    `select payload from events
     where account_id = $1 and id >= $2 and ($3::text is null or id < $3) and ($4::text is null or type = $4)
     order by id desc limit $5`,
    [accountId, idAt('evt', since ?? 0), cursor ? idOfCursor('evt', cursor) : null, type ?? null, limit + 1],
  )
  return pageOf(
    rows.map((row) => JSON.parse(row.payload)),
    limit,
  )
}

/** Throws `missing`. */
export const showEvent = async ({ sql, accountId }: Work, id: string): Promise<EmittedEvent> => {
  const [row] = await sql<{ payload: string }>('select payload from events where account_id = $1 and id = $2', [
    accountId,
    id,
  ])
  if (!row) throw missing(`There is no event ${id}`, { hint: 'svc events list' })
  return JSON.parse(row.payload)
}
