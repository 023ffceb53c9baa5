import type { Page } from '../lib/cursor.ts'
import { type PageFlags, type PageRequest, pageRequest } from '../lib/page-request.ts'
import type { Column, ListOptions, Output } from './output.ts'

/** Rows of each page when all pages are streamed. */
const streamedRows = 500

/**
 * Prints a list of unbounded length: one page or, with --jsonl and -q, all pages one after another, so that memory stays
 * constant. `--limit` applies to both.
 */
export const showPages = async <Row extends object>(
  { out, signal }: { out: Output; signal: AbortSignal },
  noun: string,
  flags: PageFlags,
  load: (request: PageRequest) => Promise<Page<Row>>,
  columns: readonly Column<Row>[],
  options: ListOptions<Row> = {},
): Promise<void> => {
  const request = pageRequest(flags)
  if (out.format !== 'jsonl' && out.format !== 'ids') {
    const { rows, nextCursor } = await load(request)
    return out.list(noun, rows, columns, nextCursor, options)
  }
  const write = out.stream(columns, options)
  let left = flags.limit === undefined ? Number.POSITIVE_INFINITY : request.limit
  let cursor: string | null = request.cursor ?? null
  do {
    const page: Page<Row> = await load({ limit: Math.min(left, streamedRows), ...(cursor && { cursor }) })
    await write(page.rows)
    left -= page.rows.length
    cursor = page.nextCursor
  } while (cursor && left > 0 && !signal.aborted)
}
