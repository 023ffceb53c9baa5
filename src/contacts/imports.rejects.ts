import { createWriteStream, realpathSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { csvLine } from '../lib/csv.ts'
import { decodeCursor, encodeCursor, type Page } from '../lib/cursor.ts'
import { invalid, Problem } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'
import type { Reject } from './imports.batch.ts'
import { findImport } from './imports.checkpoint.ts'

/** In the order of the file, those behind the line `cursor`. Throws `missing` for the import. */
export const listRejects = async (
  work: Work,
  id: string,
  { limit, cursor }: { limit: number; cursor?: string },
): Promise<Page<Reject>> => {
  const after = cursor === undefined ? 0 : Number(decodeCursor(cursor, 1)[0])
  if (!Number.isSafeInteger(after)) throw invalid('cursor is not valid')
  await findImport(work, id)
  const [em, { ImportReject }] = await Promise.all([work.em(), import('./contacts.entities.ts')])
  const rows = await em.find(
    ImportReject,
    { accountId: work.accountId, importId: id, line: { $gt: after } },
    { orderBy: { line: 'asc' }, limit: limit + 1 },
  )
  const rejects = rows.slice(0, limit).map(({ line, email, reason }) => ({ line, email, reason }))
  return { rows: rejects, nextCursor: rows.length > limit ? encodeCursor([String(rejects.at(-1)!.line)]) : null }
}

type WorkOpener = <T>(run: (work: Work) => Promise<T>) => Promise<T>

const pages = async function* (open: WorkOpener, id: string): AsyncGenerator<string> {
  yield csvLine(['line', 'email', 'reason'])
  let page: Page<Reject> | undefined
  while (page?.nextCursor !== null) {
    const request = { limit: 1000, ...(page && { cursor: page.nextCursor }) }
    page = await open((work) => listRejects(work, id, request))
    yield page.rows.map(({ line, email, reason }) => csvLine([line, email, reason])).join('')
  }
}

/** Writes all rejects of an import as CSV: line, email, reason. */
export const writeRejects = (open: WorkOpener, id: string, file: string): Promise<void> =>
  pipeline(Readable.from(pages(open, id)), createWriteStream(file))

/** Makes sure, before anything is written, that the rejects will have a place, which is not the import's own file. */
export const checkRejectsFile = async (file: string, importFile: string): Promise<void> => {
  try {
    await (await open(file, 'a')).close()
  } catch (error) {
    throw new Problem('usage', `The file ${file} can't be written (${(error as NodeJS.ErrnoException).code})`)
  }
  if (importFile !== '-' && realpathSync(file) === realpathSync(importFile)) {
    throw new Problem('usage', 'The rejects would overwrite the file that is imported')
  }
}
