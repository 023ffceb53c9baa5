import type { IdPrefix } from './ids.ts'
import { invalid } from './problem.ts'

/** One page of a list; `nextCursor` is null on the last one. */
export interface Page<Row> {
  rows: Row[]
  nextCursor: string | null
}

/** The key of a page's last row as an opaque text, from which the next page goes on. */
export const encodeCursor = (key: readonly string[]): string => Buffer.from(JSON.stringify(key)).toString('base64url')

const parse = (cursor: string): unknown => {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString())
  } catch {
    return null
  }
}

/** The key of `length` parts that `encodeCursor` was given. Throws Problem `invalid` for anything else. */
export const decodeCursor = (cursor: string, length: number): string[] => {
  const key = parse(cursor)
  const isKey =
    Array.isArray(key) && key.length === length && key.every((part) => typeof part === 'string' && !part.includes('\0'))
  if (!isKey) throw invalid('cursor is not valid')
  return key
}

/** The id that a cursor of `pageOf` stands for. Throws Problem `invalid` for anything else. */
export const idOfCursor = (prefix: IdPrefix, cursor: string): string => {
  const [id = ''] = decodeCursor(cursor, 1)
  if (!id.startsWith(`${prefix}_`)) throw invalid('cursor is not valid')
  return id
}

/** A page of at most `limit` rows, from rows of which one more than `limit` was asked for. */
export const pageOf = <Row extends { id: string }>(rows: readonly Row[], limit: number): Page<Row> => {
  const page = rows.slice(0, limit)
  return { rows: page, nextCursor: rows.length > limit ? encodeCursor([page.at(-1)!.id]) : null }
}
