import { z } from 'zod'
import { decodeCursor, encodeCursor } from '../lib/cursor.ts'

export const PageRequest = z.object({ limit: z.coerce.number().int().min(1).max(1000), cursor: z.string().optional() })
export type PageRequest = z.output<typeof PageRequest>

/** A page of a list that is ordered by id, newest first. `nextCursor` is null on the last one. */
export interface Page<Row> {
  rows: Row[]
  nextCursor: string | null
}

/** The page of at most `limit` of the rows read; `limit + 1` are read, so that the last page is known as such. */
export const pageOf = <Row extends { id: string }>(rows: readonly Row[], limit: number): Page<Row> => {
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  return { rows: shown, nextCursor: last ? encodeCursor([last.id]) : null }
}

/** The id at which the page before ended. Throws Problem `invalid` for a bad cursor. */
export const idOfCursor = (cursor: string): string => decodeCursor(cursor, 1)[0]!
