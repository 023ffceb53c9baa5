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

/** The newest so many are looked at. */
const watched = 5000
/** Made so long ago, an event may still come to light: its transaction was long. In ms. */
const lateMs = 60_000

/** Each call gives the events that were kept since the call before, oldest first; the first one those since `sinceMs` (epoch ms). */
export const newEvents = (
  { type }: z.output<typeof EventFilter>,
  sinceMs: number,
): ((work: Work) => Promise<EmittedEvent[]>) => {
  let known: Set<string> | undefined
  return async ({ sql, accountId, now }) => {
    const lately = now.getTime() - lateMs
    const found = await sql<{ id: string }>(
      `select id from events where account_id = $1 and id >= $2 and ($3::text is null or type = $3) order by id desc limit $4`,
      [accountId, idAt('evt', known ? lately : Math.min(lately, sinceMs)), type ?? null, watched],
    )
    const ids = found.map(({ id }) => id)
    const fresh = ids.filter((id) => (known ? !known.has(id) : id >= idAt('evt', sinceMs)))
    known = new Set(ids)
    if (fresh.length === 0) return []
    const rows = await sql<{ payload: string }>(
      'select payload from events where account_id = $1 and id = any($2) order by id',
      [accountId, fresh],
    )
    return rows.map((row) => JSON.parse(row.payload))
  }
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
