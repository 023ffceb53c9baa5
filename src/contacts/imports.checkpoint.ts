import { newId } from '../lib/ids.ts'
import { conflict, missing } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'
import type { Import } from './contacts.entities.ts'
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

export const viewImport = (row: Import): ImportView => ({
  id: row.id,
  listId: row.listId,
  file: row.file,
  status: row.status,
  rows: row.rowsDone,
  created: row.created,
  updated: row.updated,
  unchanged: row.unchanged,
  skipped: row.skipped,
  rejected: row.rejected,
  startedAt: row.startedAt.getTime(),
  finishedAt: row.finishedAt?.getTime() ?? null,
})

const entitiesOf = (work: Work) => Promise.all([work.em(), import('./contacts.entities.ts')])

export const findImport = async (work: Work, id: string): Promise<Import> => {
  const [em, { Import }] = await entitiesOf(work)
  const row = await em.findOne(Import, { id })
  if (!row) throw missing(`There is no import ${id}`, { hint: 'svc imports list' })
  return row
}

/** Records an import that is about to begin. */
export const startImport = async (
  work: Work,
  input: { listId: string; file: string; sha256: string | null; options: ImportOptions },
): Promise<OpenImport> => {
  const { accountId, now } = work
  const { listId, file, sha256, options } = input
  const [em, { Import }] = await entitiesOf(work)
  const row = em.create(Import, {
    id: newId('imp', now.getTime()),
    accountId,
    listId,
    file,
    fileSha256: sha256,
    options: { ...options },
    status: 'running',
    rowsDone: 0,
    created: 0,
    updated: 0,
    unchanged: 0,
    skipped: 0,
    rejected: 0,
    startedAt: now,
  })
  await em.flush()
  return { ...viewImport(row), fileSha256: sha256, options }
}

/** Throws `missing`. */
export const openImport = async (work: Work, id: string): Promise<OpenImport> => {
  const row = await findImport(work, id)
  return { ...viewImport(row), fileSha256: row.fileSha256 ?? null, options: row.options as unknown as ImportOptions }
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
 * there whole and once, or not at all. Throws `conflict` where another process has written it.
 */
export const writeBatch = async (
  work: Work,
  { id, listId, options }: OpenImport,
  rowsDone: number,
  batch: Batch,
  verdicts: ReadonlyMap<string, Verdict>,
): Promise<Counts> => {
  const keepExisting = options.onConflict === 'skip'
  const outcomes = await writeContacts(work, listId, batch.writes, verdicts, { keepExisting, events: options.events })
  if (keepExisting) {
    // Of those that were left alone, the plan skipped who is not in the list.
    const left = [...outcomes].filter(([, outcome]) => outcome === 'skipped').map(([email]) => email)
    for (const email of await findMembers(work, listId, left)) outcomes.set(email, 'unchanged')
  }
  const counts = countRows(batch, outcomes)
  const isTold = options.events && counts.created + counts.updated > 0 && (await areWritesHeard(work))
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
  return viewImport(await findImport(work, id))
}
