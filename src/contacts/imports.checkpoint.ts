import { idOfCursor, type Page, pageOf } from '../lib/cursor.ts'
import { newId } from '../lib/ids.ts'
import type { PageRequest } from '../lib/page.ts'
import { conflict, missing } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'
import { findMembers } from './contacts.find.ts'
import type { Verdict } from './contacts.verdict.ts'
import { areWritesHeard, writeContacts } from './contacts.write.ts'
import type { Batch, Reject } from './imports.batch.ts'
import { type Counts, countRows } from './imports.counts.ts'

/** How an import reads its file and writes; kept with it, so that a resume goes on in the same way. */
export interface ImportOptions {
  /** Header to field. */
  map: Record<string, string>
  encoding: string
  onConflict: 'upsert' | 'skip'
  events: boolean
  /** Where the rejects go at the end: an absolute path, or null. */
  rejectsFile: string | null
}

export interface ImportView extends Counts {
  id: string
  listId: string
  file: string
  status: 'running' | 'done'
  /** Data rows that are done. */
  rows: number
  startedAt: number
  finishedAt: number | null
}

/** An import as it goes on: what a view shows, and what reading on takes. */
export interface OpenImport extends ImportView {
  fileSha256: string | null
  options: ImportOptions
}

interface Row extends Omit<OpenImport, 'startedAt' | 'finishedAt'> {
  startedAt: Date
  finishedAt: Date | null
}

const columns = `id, list_id as "listId", file, file_sha256 as "fileSha256", options, status, rows_done as rows, created, updated,
  unchanged, skipped, rejected, started_at as "startedAt", finished_at as "finishedAt"`

const openOf = ({ startedAt, finishedAt, ...row }: Row): OpenImport => ({
  ...row,
  startedAt: startedAt.getTime(),
  finishedAt: finishedAt?.getTime() ?? null,
})

const viewOf = (row: Row): ImportView => {
  const { fileSha256, options, ...view } = openOf(row)
  return view
}

/** Newest first. Throws Problem `invalid` for a bad cursor. */
export const listImports = async (
  { sql, accountId }: Work,
  { limit, cursor }: PageRequest,
): Promise<Page<ImportView>> => {
  const before = cursor === undefined ? null : idOfCursor('imp', cursor)
  const rows = await sql<Row>(
    `select ${columns} from imports where account_id = $1 and ($2::text is null or id < $2) order by id desc limit $3`,
    [accountId, before, limit + 1],
  )
  return pageOf(rows.map(viewOf), limit)
}

const findImport = async ({ sql, accountId }: Work, id: string): Promise<Row> => {
  const [row] = await sql<Row>(`select ${columns} from imports where account_id = $1 and id = $2`, [accountId, id])
  if (!row) throw missing(`There is no import ${id}`, { hint: 'svc imports list' })
  return row
}

/** Throws Problem `missing`. */
export const openImport = async (work: Work, id: string): Promise<OpenImport> => openOf(await findImport(work, id))

/** Throws Problem `missing`. */
export const showImport = async (work: Work, id: string): Promise<ImportView> => viewOf(await findImport(work, id))

/** Records an import that is about to begin. */
export const startImport = async (
  { sql, accountId, now }: Work,
  { listId, file, sha256, options }: { listId: string; file: string; sha256: string | null; options: ImportOptions },
): Promise<OpenImport> => {
  const [row] = await sql<Row>(
    `insert into imports (id, account_id, list_id, file, file_sha256, options, status, started_at)
     values ($1, $2, $3, $4, $5, $6, 'running', $7) returning ${columns}`,
    [newId('imp', now.getTime()), accountId, listId, file, sha256, JSON.stringify(options), now],
  )
  return openOf(row!)
}

const takenOver = (id: string) =>
  conflict(`Another process goes on with the import ${id}`, { hint: `svc imports show ${id}` })

const addRejects = async ({ sql, accountId }: Work, id: string, rejects: readonly Reject[]): Promise<void> => {
  if (rejects.length === 0) return
  await sql(
    `insert into import_rejects (account_id, import_id, line, email, reason)
     select $1, $2, line, email, reason from jsonb_to_recordset($3::jsonb) as r (line int, email text, reason text)`,
    [accountId, id, JSON.stringify(rejects)],
  )
}

/**
 * Moves the checkpoint on from `rowsDone`. Whoever else is at the same batch waits here, finds it moved on and rolls its
 * work back. Unless somebody is told of the batch, its commit does not wait for the disk: a server that crashes loses the last
 * ones whole, with their checkpoints, and what ends the import waits for all. Throws `conflict`.
 */
const advance = async (
  { sql, accountId }: Work,
  id: string,
  rowsDone: number,
  { rows, counts, isTold }: { rows: number; counts: Counts; isTold: boolean },
): Promise<void> => {
  const { created, updated, unchanged, skipped, rejected } = counts
  const moved = await sql(
    `update imports set rows_done = rows_done + $4, created = created + $5, updated = updated + $6,
       unchanged = unchanged + $7, skipped = skipped + $8, rejected = rejected + $9
     where account_id = $1 and id = $2 and rows_done = $3 and status = 'running'
     returning set_config('synchronous_commit', case when $10 then current_setting('synchronous_commit') else 'off' end, true)`,
    [accountId, id, rowsDone, rows, created, updated, unchanged, skipped, rejected, isTold],
    'import-advance',
  )
  if (moved.length === 0) throw takenOver(id)
}

/**
 * Writes one batch with its rejects and moves the checkpoint from `rowsDone` on, all in this transaction: a batch is
 * there whole and once, or not at all. Where `turn` is given, what waits for the batch before it is done behind that. Throws
 * `conflict` where another process has written it.
 */
export const writeBatch = async (
  work: Work,
  { id, listId, options }: OpenImport,
  rowsDone: number,
  batch: Batch,
  verdicts: ReadonlyMap<string, Verdict>,
  turn = async (): Promise<void> => {},
): Promise<Counts> => {
  const keepExisting = options.onConflict === 'skip'
  const { events } = options
  const outcomes = await writeContacts(work, listId, batch.writes, verdicts, { keepExisting, events, turn })
  if (keepExisting) {
    // Of those that were left alone, the plan skipped who is not in the list.
    const left = [...outcomes].filter(([, outcome]) => outcome === 'skipped').map(([email]) => email)
    for (const email of await findMembers(work, listId, left)) outcomes.set(email, 'unchanged')
  }
  const counts = countRows(batch, outcomes)
  const isTold = events && counts.created + counts.updated > 0 && (await areWritesHeard(work))
  await turn()
  await advance(work, id, rowsDone, { rows: batch.rows, counts, isTold })
  await addRejects(work, id, batch.rejects)
  return counts
}

/** Marks it done once all of its file is. Throws `conflict` where another process has gone on with it. */
export const finishImport = async (work: Work, id: string, rowsDone: number): Promise<ImportView> => {
  const ended = await work.sql(
    `update imports set status = 'done', finished_at = $4
     where account_id = $1 and id = $2 and rows_done = $3 and status = 'running' returning 1`,
    [work.accountId, id, rowsDone, work.now],
  )
  if (ended.length === 0) throw takenOver(id)
  return showImport(work, id)
}
