import { createWriteStream, realpathSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { csvLine } from '../lib/csv.ts'
import { Problem } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'
import { ImportReject } from './contacts.entities.ts'
import type { Reject } from './imports.batch.ts'
import { findImport } from './imports.checkpoint.ts'

/** In the order of the file, those behind the line `cursor`. Throws `missing` for the import. */
export const listRejects = async (
  work: Work,
  id: string,
  { limit, cursor = '0' }: { limit: number; cursor?: string },
): Promise<{ rejects: Reject[]; nextCursor: string | null }> => {
  if (!/^\d{1,9}$/.test(cursor)) throw new Problem('usage', 'The cursor is none of this list')
  await findImport(work, id)
  const rows = await work.em.find(
    ImportReject,
    { accountId: work.accountId, importId: id, line: { $gt: Number(cursor) } },
    { orderBy: { line: 'asc' }, limit: limit + 1 },
  )
  const rejects = rows.slice(0, limit).map(({ line, email, reason }) => ({ line, email, reason }))
  return { rejects, nextCursor: rows.length > limit ? String(rejects.at(-1)!.line) : null }
}

type WorkOpener = <T>(run: (work: Work) => Promise<T>) => Promise<T>

const pages = async function* (open: WorkOpener, id: string): AsyncGenerator<string> {
  yield csvLine(['line', 'email', 'reason'])
  for (let cursor: string | null = '0'; cursor !== null; ) {
    const from: string = cursor
    const page: Awaited<ReturnType<typeof listRejects>> = await open((work) => listRejects(work, id, { limit: 1000, cursor: from }))
    yield page.rejects.map(({ line, email, reason }) => csvLine([line, email, reason])).join('')
    cursor = page.nextCursor
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
