import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { csvLine, safeCsvLine } from '../../lib/csv.ts'
import type { Page } from '../../lib/cursor.ts'
import type { PageRequest } from '../../lib/page-request.ts'
import type { AttendeeView } from './attendees.ts'

const pageSize = 500

type Load = (request: PageRequest) => Promise<Page<AttendeeView>>

const iso = (time: number): string => new Date(time).toISOString()

const csvOf =
  (line: typeof csvLine) =>
  ({ email, name, firstSeenAt, lastSeenAt, minutes }: AttendeeView): string =>
    line([email, name, iso(firstSeenAt), iso(lastSeenAt), minutes])

const jsonlOf = (attendee: AttendeeView): string => `${JSON.stringify(attendee)}\n`

const lines = async function* (load: Load, head: string, lineOf: (attendee: AttendeeView) => string) {
  yield head
  let cursor: string | null = null
  do {
    const page: Page<AttendeeView> = await load({ limit: pageSize, ...(cursor && { cursor }) })
    yield page.rows.map(lineOf).join('')
    cursor = page.nextCursor
  } while (cursor)
}

/**
 * Writes all attendees to `sink`, page by page with back-pressure, and leaves it open. With `isSafe`, CSV cells that a
 * spreadsheet would run as formulas are quoted as text.
 */
export const writeAttendees = (
  load: Load,
  format: 'csv' | 'jsonl',
  sink: NodeJS.WritableStream,
  { signal, isSafe }: { signal: AbortSignal; isSafe: boolean },
): Promise<void> => {
  const line = isSafe ? safeCsvLine : csvLine
  const text =
    format === 'jsonl'
      ? lines(load, '', jsonlOf)
      : lines(load, line(['email', 'name', 'firstSeenAt', 'lastSeenAt', 'minutes']), csvOf(line))
  return pipeline(Readable.from(text), sink, { end: false, signal })
}
