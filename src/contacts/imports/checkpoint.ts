import { idOfCursor, type Page, pageOf } from '../../lib/cursor.ts'
import { newId } from '../../lib/ids.ts'
import { lockClasses } from '../../lib/locks.ts'
import type { PageRequest } from '../../lib/page-request.ts'
import { conflict, noSuch, Problem } from '../../lib/problem.ts'
import { quantity } from '../../lib/quantity.ts'
import { type RowOf, typed } from '../../store/column-types.ts'
import { sqlOn } from '../../store/database.ts'
import { inEpochMs } from '../../store/epoch-ms.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import { columns, types } from '../../store/tables.ts'
import type { AccountSql, App, Work } from '../../store/work.ts'
import { imports } from '../contacts.columns.ts'
import { findMembers } from '../contacts.find.ts'
import type { VerificationResult } from '../verification/result.ts'
import { areWriteEventsWanted, writeContacts } from '../write/write-contacts.ts'
import type { Batch, Reject } from './batch.ts'
import type { Origin } from './columns.ts'
import { type Counts, countRows } from './counts.ts'

/** How an import reads its file and writes. Stored with the import, so that a resume continues in the same way. */
export interface ImportOptions {
  /** Header to field. */
  map: Record<string, string>
  encoding: string
  onConflict: 'upsert' | 'skip'
  events: boolean
  /** File for the rejects, written at the end: an absolute path, or null. */
  rejectsFile: string | null
  /** The product that exported the file (`--from`). If it is absent or null, no other product's rules apply. */
  origin?: Origin | null
}

export interface ImportView extends Counts {
  id: string
  listId: string
  file: string
  /** It is `stopped` if the import was interrupted or failed, or if its process was killed. */
  status: 'running' | 'stopped' | 'done'
  /** Number of imported data rows. */
  rows: number
  startedAt: number
  finishedAt: number | null
}

/** An import with the data that is needed to continue it. */
export interface OpenImport extends ImportView {
  fileSha256: string | null
  options: ImportOptions
}

const shown = columns(imports, ['id', 'listId', 'file', 'fileSha256', 'status'])
const counted = columns(imports, ['created', 'updated', 'unchanged', 'skipped', 'rejected', 'suppressed'])
const times = columns(imports, ['startedAt', 'finishedAt'])

const columnsOfImport = `${shown.list}, options, rows_done as rows, ${counted.list}, ${times.list}`
const typesOfImport = {
  ...shown.types,
  ...counted.types,
  ...times.types,
  options: typed<ImportOptions>('jsonb'),
  rows: imports.columns.rowsDone,
} as const

const lockOf = `${lockClasses.importer}, hashtext(:id)`

const lockImport = statement(
  'lock-import',
  { row: { pg_advisory_lock_shared: 'void' }, parameters: { id: 'text' } },
  `select pg_advisory_lock_shared(${lockOf})`,
)

/**
 * Marks an import as run by this process until the returned function is called or the process ends. The mark excludes no other process:
 * the server may keep the session of a host that was lost, and the checkpoint decides anyway.
 */
export const holdImport = async ({ database }: Pick<App, 'database'>, id: string): Promise<() => Promise<void>> => {
  const session = await database.connect()
  await sqlOn(session)(lockImport, { id })
  return () => session.end().catch(() => {})
}

/** Whether a process runs the import of the row; two int4 keys have objsubid 2. */
const isHeld = `status = 'running' and exists (
  select from pg_locks l where l.locktype = 'advisory' and l.objsubid = 2 and l.classid = ${lockClasses.importer}
    and l.objid = hashtext(imports.id)::oid and l.database = (select oid from pg_database where datname = current_database())
) as "isHeld"`

const typesOfHeld = { ...typesOfImport, isHeld: 'bool' } as const

const viewOf = ({ isHeld, ...row }: RowOf<typeof typesOfHeld>): ImportView => {
  const { fileSha256, options, ...view } = inEpochMs(row)
  return view.status === 'running' && !isHeld ? { ...view, status: 'stopped' } : view
}

const readPage = statement(
  'list-imports',
  { row: typesOfHeld, parameters: { accountId: 'text', before: 'text?', limit: 'int8' } },
  `select ${columnsOfImport}, ${isHeld} from imports where account_id = :accountId and (:before::text is null or id < :before) order by id desc limit :limit`,
)

/** Lists imports, newest first. Throws Problem `invalid` for a bad cursor. */
export const listImports = async (
  { sql, accountId }: Work,
  { limit, cursor }: PageRequest,
): Promise<Page<ImportView>> => {
  const before = idOfCursor('imp', cursor)
  const rows = await sql(readPage, { accountId, before, limit: limit + 1 })
  return pageOf(rows.map(viewOf), limit)
}

const readImport = statement(
  'read-import',
  { row: typesOfHeld, parameters: { accountId: 'text', id: 'text' } },
  `select ${columnsOfImport}, ${isHeld} from imports where account_id = :accountId and id = :id`,
)

const findImport = async ({ sql, accountId }: Work, id: string): Promise<RowOf<typeof typesOfHeld>> => {
  const [row] = await sql(readImport, { accountId, id })
  if (!row) throw noSuch('import', id, { hint: 'svc imports list' })
  return row
}

/** Throws Problem `not_found`. */
export const openImport = async (work: Work, id: string): Promise<OpenImport> => {
  const { isHeld, ...row } = await findImport(work, id)
  return inEpochMs(row)
}

/** Throws Problem `not_found`. */
export const showImport = async (work: Work, id: string): Promise<ImportView> => viewOf(await findImport(work, id))

const insertImport = statement(
  'insert-import',
  {
    row: typesOfImport,
    parameters: {
      ...types(imports, 'id', 'accountId', 'listId', 'file', 'fileSha256'),
      options: 'jsonb',
      now: 'timestamptz',
    },
  },
  `insert into imports (id, account_id, list_id, file, file_sha256, options, status, started_at)
   values (:id, :accountId, :listId, :file, :fileSha256, :options, 'running', :now) returning ${columnsOfImport}`,
)

/** Creates the record of an import before its first batch. */
export const startImport = async (
  { sql, accountId, now }: Work,
  { listId, file, sha256, options }: { listId: string; file: string; sha256: string | null; options: ImportOptions },
): Promise<OpenImport> => {
  const id = newId('imp', now.getTime())
  const [row] = await sql(insertImport, {
    id,
    accountId,
    listId,
    file,
    fileSha256: sha256,
    options: JSON.stringify(options),
    now,
  })
  return inEpochMs(row!)
}

const readRowsDone = statement(
  'read-rows-done',
  { row: { rows: 'int4' }, parameters: { accountId: 'text', id: 'text' } },
  'select rows_done as rows from imports where account_id = :accountId and id = :id',
)

/** Returns why the checkpoint is not where this process left it: another process advanced it, or a crash of the database reset it. */
const checkpointConflict = async ({ sql, accountId }: AccountSql, id: string, rowsDone: number): Promise<Problem> => {
  const [row] = await sql(readRowsDone, { accountId, id })
  if (row && row.rows < rowsDone)
    return new Problem(
      'unavailable',
      `The database crashed and lost the last batches: it kept ${quantity(row.rows, 'row')} of the import`,
      { hint: `svc imports resume ${id}` },
    )
  return conflict(`Another process is running the import ${id}`, { hint: `svc imports show ${id}` })
}

const insertRejects = statement(
  'insert-rejects',
  { parameters: { accountId: 'text', id: 'text', rejects: 'jsonb' } },
  `insert into import_rejects (account_id, import_id, line, email, reason)
   select :accountId, :id, line, email, reason from jsonb_to_recordset(:rejects::jsonb) as r (line int, email text, reason text)`,
)

const addRejects = async ({ sql, accountId }: Work, id: string, rejects: readonly Reject[]): Promise<void> => {
  if (rejects.length === 0) return
  await sql(insertRejects, { accountId, id, rejects: JSON.stringify(rejects) })
}

const advanceImport = preparedStatement(
  'import-advance',
  {
    row: { durability: 'text' },
    parameters: { ...types(imports, 'accountId', 'id', 'rowsDone'), rows: 'int4', ...counted.types, isDurable: 'bool' },
  },
  `update imports set status = 'running', rows_done = rows_done + :rows, created = created + :created, updated = updated + :updated,
     unchanged = unchanged + :unchanged, skipped = skipped + :skipped, rejected = rejected + :rejected,
     suppressed = suppressed + :suppressed
   where account_id = :accountId and id = :id and rows_done = :rowsDone and status <> 'done'
   returning set_config(
     'synchronous_commit', case when :isDurable then current_setting('synchronous_commit') else 'off' end, true
   ) as durability`,
)

/**
 * Advances the checkpoint from `rowsDone`. Another process with the same batch waits here, finds the checkpoint advanced, and rolls
 * back. Unless `isDurable`, the commit does not wait for the disk: after a crash of the server the last batches are missing as a whole,
 * with their checkpoints. The end of the import waits for all commits. Throws Problem `conflict`.
 */
const advance = async (
  { sql, accountId }: Work,
  id: string,
  rowsDone: number,
  { rows, counts, isDurable }: { rows: number; counts: Counts; isDurable: boolean },
): Promise<void> => {
  const moved = await sql(advanceImport, { accountId, id, rowsDone, rows, ...counts, isDurable })
  if (moved.length === 0) throw await checkpointConflict({ sql, accountId }, id, rowsDone)
}

/**
 * Writes one batch with its rejects and advances the checkpoint from `rowsDone`, in one transaction: a batch is written exactly once, as
 * a whole, or not at all. `waitForTurn` is awaited before the checkpoint, so that batches commit in order. Throws Problem `conflict` if another
 * process has written the batch.
 */
export const writeBatch = async (
  work: Work,
  { id, listId, options }: OpenImport,
  rowsDone: number,
  batch: Batch,
  verifications: ReadonlyMap<string, VerificationResult>,
  waitForTurn = async (): Promise<void> => {},
): Promise<Counts> => {
  const keepExisting = options.onConflict === 'skip'
  const { events } = options
  const outcomes = await writeContacts(work, listId, batch.writes, verifications, {
    keepExisting,
    events,
    waitForTurn,
    ...(batch.states && { pending: batch.states.pending }),
  })
  if (keepExisting) {
    // Of the skipped addresses, those in the list are unchanged; the plan's limit skipped the others.
    const left = [...outcomes].filter(([, outcome]) => outcome === 'skipped').map(([email]) => email)
    for (const email of await findMembers(work, listId, left)) outcomes.set(email, 'unchanged')
  }
  const counts = countRows(batch, outcomes)
  // Reported events must not outlive their contacts.
  const isDurable = events && counts.created + counts.updated > 0 && (await areWriteEventsWanted(work))
  await waitForTurn()
  await advance(work, id, rowsDone, { rows: batch.rows, counts, isDurable })
  await addRejects(work, id, batch.rejects)
  return counts
}

const markStopped = statement(
  'stop-import',
  { parameters: { accountId: 'text', id: 'text', rowsDone: 'int4' } },
  `update imports set status = 'stopped' where account_id = :accountId and id = :id and rows_done = :rowsDone and status = 'running'`,
)

/** Marks the import as stopped, unless another process has continued it meanwhile. */
export const stopImport = async (work: Work, id: string, rowsDone: number): Promise<void> => {
  await work.sql(markStopped, { accountId: work.accountId, id, rowsDone })
}

const markDone = statement(
  'finish-import',
  { row: { id: 'text' }, parameters: { accountId: 'text', id: 'text', rowsDone: 'int4', now: 'timestamptz' } },
  `update imports set status = 'done', finished_at = :now
   where account_id = :accountId and id = :id and rows_done = :rowsDone and status <> 'done' returning id`,
)

/** Marks the import as done. Throws Problem `conflict` if another process has continued it. */
export const finishImport = async (work: Work, id: string, rowsDone: number): Promise<ImportView> => {
  const ended = await work.sql(markDone, { accountId: work.accountId, id, rowsDone, now: work.now })
  if (ended.length === 0) throw await checkpointConflict(work, id, rowsDone)
  return showImport(work, id)
}
