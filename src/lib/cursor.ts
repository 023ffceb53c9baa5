import type { IdPrefix } from './ids.ts'
import type { PageRequest } from './page-request.ts'
import { invalid } from './problem.ts'

/** One page of a list. `nextCursor` is null on the last page. */
export interface Page<Row> {
  rows: Row[]
  nextCursor: string | null
}

/** Encodes the key of a page's last row as an opaque cursor for the next page. */
export const encodeCursor = (key: readonly string[]): string => Buffer.from(JSON.stringify(key)).toString('base64url')

const parse = (cursor: string): unknown => {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString())
  } catch {
    return null
  }
}

const isKey = (key: unknown): key is string[] =>
  Array.isArray(key) && key.every((part) => typeof part === 'string' && !part.includes('\0'))

/** Whether a text is the cursor of a page, of whatever rows. */
export const isCursor = (cursor: string): boolean => isKey(parse(cursor))

/** Decodes a cursor to its key of `length` parts. Throws Problem `invalid` if it is not such a cursor. */
export const decodeCursor = (cursor: string, length: number): string[] => {
  const key = parse(cursor)
  if (!isKey(key) || key.length !== length) throw invalid('cursor is not valid')
  return key
}

/** Returns the id in a cursor of `pageOf`, or null without a cursor. Throws Problem `invalid` if it is not such a cursor. */
export const idOfCursor = (prefix: IdPrefix, cursor: string | undefined): string | null => {
  if (cursor === undefined) return null
  const [id = ''] = decodeCursor(cursor, 1)
  if (!id.startsWith(`${prefix}_`)) throw invalid('cursor is not valid')
  return id
}

/**
 * Returns a page of at most `limit` rows. `rows` must come from a query with `limit + 1`: the extra row means there is a next page,
 * and so does `end`, the last row that the query has read.
 */
export const pageOf = <Row extends { id: string }>(
  rows: readonly Row[],
  limit: number,
  end?: { id: string },
): Page<Row> => {
  const page = rows.slice(0, limit)
  const last = rows.length > limit ? page.at(-1) : end
  return { rows: page, nextCursor: last ? encodeCursor([last.id]) : null }
}

/**
 * Returns a page of an array that has all rows, in the order of their ids, which begin with `prefix`. Rows that are added or
 * deleted between two pages make no row appear twice or disappear. Throws Problem `invalid` for a bad cursor.
 */
export const pageById = <Row extends { id: string }>(
  rows: readonly Row[],
  prefix: IdPrefix,
  { limit, cursor }: PageRequest,
): Page<Row> => {
  const after = idOfCursor(prefix, cursor) ?? ''
  const rest = rows.filter(({ id }) => id > after).sort((a, b) => (a.id < b.id ? -1 : 1))
  return pageOf(rest.slice(0, limit + 1), limit)
}
