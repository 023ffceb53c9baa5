import { constants, existsSync, realpathSync } from 'node:fs'
import { access, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { csvLine } from '../../lib/csv.ts'
import { decodeCursor, encodeCursor, type Page } from '../../lib/cursor.ts'
import type { PageRequest } from '../../lib/page-request.ts'
import { invalid, Problem } from '../../lib/problem.ts'
import { number, quantity } from '../../lib/quantity.ts'
import { statement } from '../../store/statement.ts'
import { types } from '../../store/tables.ts'
import type { Work } from '../../store/work.ts'
import { importRejects } from '../contacts.columns.ts'
import type { Reject } from './batch.ts'
import { showImport } from './checkpoint.ts'

const readPage = statement(
  'list-rejects',
  {
    row: types(importRejects, 'line', 'email', 'reason'),
    parameters: { accountId: 'text', importId: 'text', after: 'int4', limit: 'int8' },
  },
  `select line, email, reason from import_rejects where account_id = :accountId and import_id = :importId and line > :after
   order by line limit :limit`,
)

/** Lists rejects in the order of the file; `cursor` is the last line of the previous page. Throws Problem `not_found` for the import, `invalid` for a bad cursor. */
export const listRejects = async (work: Work, id: string, { limit, cursor }: PageRequest): Promise<Page<Reject>> => {
  const after = cursor === undefined ? 0 : Number(decodeCursor(cursor, 1)[0])
  if (!Number.isSafeInteger(after)) throw invalid('cursor is not valid')
  await showImport(work, id)
  const rows = await work.sql(readPage, { accountId: work.accountId, importId: id, after, limit: limit + 1 })
  const rejects = rows.slice(0, limit)
  return { rows: rejects, nextCursor: rows.length > limit ? encodeCursor([String(rejects.at(-1)!.line)]) : null }
}

const countReasons = statement(
  'count-reject-reasons',
  { row: { reason: 'text', rows: 'int8' }, parameters: { accountId: 'text', importId: 'text', limit: 'int8' } },
  `select reason, count(*) as rows from import_rejects where account_id = :accountId and import_id = :importId
   group by reason order by rows desc, reason limit :limit`,
)

interface ReasonCount {
  reason: string
  rows: number
}

const shownReasons = 3

/** Returns the most frequent reasons with their numbers of rows. */
export const reasonsOf = ({ sql, accountId }: Work, id: string, limit = shownReasons): Promise<ReasonCount[]> =>
  sql(countReasons, { accountId, importId: id, limit })

/** The most reasons that are counted: a file that is not CSV can have a different one in each row. */
const countedReasons = 1000

/** Counts rejected rows by their reason, for an import that stores no rejects. */
export const createReasonCounts = () => {
  const counts = new Map<string, number>()
  return {
    add(reason: string): void {
      if (counts.has(reason) || counts.size < countedReasons) counts.set(reason, (counts.get(reason) ?? 0) + 1)
    },
    /** Returns the most frequent reasons with their numbers of rows. */
    frequent: (): ReasonCount[] =>
      [...counts]
        .map(([reason, rows]) => ({ reason, rows }))
        .sort((a, b) => b.rows - a.rows)
        .slice(0, shownReasons),
  }
}

/** Returns a sentence for people: how many rows were rejected, and the most frequent reasons. */
export const rejectsText = (rejected: number, reasons: readonly ReasonCount[]): string =>
  `Rejected ${quantity(rejected, 'row')}: ${reasons.map(({ reason, rows }) => `${reason} (${number(rows)})`).join('; ')}`

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

const unwritable = (file: string, { code }: NodeJS.ErrnoException) =>
  new Problem('usage', `The file ${file} can't be written (${code})`)

/** Writes all rejects of an import as CSV: line, email, reason. Throws Problem `usage` if the file can't be written. */
export const writeRejects = async (work: WorkOpener, id: string, file: string): Promise<void> => {
  const refuse = (error: NodeJS.ErrnoException) => {
    throw unwritable(file, error)
  }
  const sink = await open(file, 'w').catch(refuse)
  try {
    for await (const page of pages(work, id)) await sink.writeFile(page).catch(refuse)
  } finally {
    await sink.close()
  }
}

/**
 * Checks before the import that the rejects file can be written and is not the imported file. Creates no file. Throws Problem
 * `usage`.
 */
export const checkRejectsFile = async (file: string, importFile: string): Promise<void> => {
  try {
    if (!existsSync(file)) return await access(dirname(file), constants.W_OK)
    await (await open(file, constants.O_WRONLY)).close()
  } catch (error) {
    throw unwritable(file, error as NodeJS.ErrnoException)
  }
  if (importFile !== '-' && existsSync(importFile) && realpathSync(file) === realpathSync(importFile)) {
    throw new Problem('usage', 'The rejects would overwrite the imported file')
  }
}
