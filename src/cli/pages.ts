import type { Page } from '../lib/cursor.ts'
import { type PageFlags, type PageRequest, pageRequest } from '../lib/page.ts'
import type { Column, ListOptions, Output } from './output.ts'

/** Rows of a page that is streamed on. */
const streamedRows = 500

/**
 * A list that grows: a page of it, or all of it with --jsonl and -q, page after page, so that memory does not grow with it.
 * `--limit` holds for both.
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
