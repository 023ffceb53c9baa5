import { decodeCursor, type Page, pageOf } from '../../lib/cursor.ts'
import type { PageRequest } from '../../lib/page-request.ts'
import { invalid } from '../../lib/problem.ts'
import { withIsoTimes } from './mcp.answers.ts'

/** The longest answer of a tool, as JSON. Models read answers whole, and clients cut off longer ones. */
export const maxAnswerChars = 40_000

/** How far texts and arrays inside an answer are cut, from generous to strict, until it fits. */
const cuts = [
  { chars: 4000, items: 400 },
  { chars: 500, items: 50 },
  { chars: 100, items: 10 },
  { chars: 20, items: 3 },
] as const

type Cut = (typeof cuts)[number]

/** Cuts a text, and says how long it was. */
export const shortened = (text: string, chars: number): string =>
  text.length > chars ? `${text.slice(0, chars)}… (${text.length} characters)` : text

const cutTo = (value: unknown, cut: Cut): unknown => {
  if (typeof value === 'string') return shortened(value, cut.chars)
  if (Array.isArray(value)) {
    const items = value.slice(0, cut.items).map((item) => cutTo(item, cut))
    return value.length > cut.items ? [...items, `… (${value.length} in all)`] : items
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, cutTo(one, cut)]))
}

const lengthOf = (value: unknown): number => JSON.stringify(value).length

/** Cuts texts and arrays of an answer, at any depth, until it is short enough. `nextCursor` stays whole. */
export const bounded = (answer: Record<string, unknown>): Record<string, unknown> => {
  const { nextCursor, ...rest } = answer
  const kept = nextCursor === undefined ? {} : { nextCursor }
  const fitting = cuts.values().map((cut) => cutTo(rest, cut) as Record<string, unknown>)
  for (const cut of fitting) if (lengthOf(cut) <= maxAnswerChars) return { ...cut, ...kept }
  return { error: `The answer has ${lengthOf(rest)} characters: ask for less`, ...kept }
}

/** Reads a page that is short enough: with fewer rows than asked for, if they are long. `nextCursor` is absent on the last page. */
export const boundedPage = async <Row>(
  noun: string,
  { limit, cursor }: PageRequest,
  load: (request: PageRequest) => Promise<Page<Row>>,
): Promise<Record<string, unknown>> => {
  for (let most = limit; ; most = Math.ceil(most / 4)) {
    const { rows, nextCursor } = await load({ limit: most, cursor })
    const answer = { [noun]: rows, ...(nextCursor !== null && { nextCursor }) }
    // As long as it will be: rows that were cut off later would be on no page.
    if (most === 1 || lengthOf(cutTo(withIsoTimes(answer), cuts[0])) <= maxAnswerChars) return answer
  }
}

/**
 * Returns a page of a list that has all rows, in its own order. A row that moves within the list meanwhile may be on two pages or on
 * none. Throws Problem `invalid` if the cursor is not valid, or if the last row of the page before is gone.
 */
export const pageOfWhole = <Row extends { id: string }>(
  rows: readonly Row[],
  { limit, cursor }: PageRequest,
): Page<Row> => {
  if (cursor === undefined) return pageOf(rows, limit)
  const [lastId] = decodeCursor(cursor, 1)
  const last = rows.findIndex(({ id }) => id === lastId)
  if (last < 0) throw invalid('cursor is not valid any more: begin with the first page')
  return pageOf(rows.slice(last + 1), limit)
}
