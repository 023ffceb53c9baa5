import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { coalesceCalls } from '../lib/coalesce.ts'
import { conflict, noSuch, notFound, Problem, shown } from '../lib/problem.ts'
import { sessionOfWorker } from '../queue/lease.ts'
import { isAccountIdle } from '../store/account-guard.ts'
import { typed } from '../store/column-types.ts'
import { isSharedFailure, type Sql } from '../store/database.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import type { App, Work } from '../store/work.ts'
import { createStates } from '../store/work-state.ts'

/*
 * An account moves to another installation in a file. It works on exactly one side:
 *
 * 1. The export marks the account as `closing`: calls and pages are refused, and no job claims or finds anything of it. What is under
 *    way ends and is recorded. Then it is `exporting`: no unit of work of it begins any more (the account guard), so that nothing of it
 *    changes.
 * 2. The file is written, and the account is marked as `exported` before the file gets its name. That is final.
 * 3. The import is one transaction in the other installation: the account works there from its commit on.
 *
 * A repeated export writes the file again: the rows stay until the account is deleted. Before step 2 ends it can be aborted.
 */

type Move = 'closing' | 'exporting' | 'exported'

const retrySeconds = 30

/** An account is `moving` from the start of its export on, and `moved` once it can only work in another installation. */
export type AccountState = 'active' | 'moving' | 'moved'

export const stateOf = (move: string | null): AccountState => {
  if (move === null) return 'active'
  return move === 'exported' ? 'moved' : 'moving'
}

const refusalOf = (state: Exclude<AccountState, 'active'>): Problem =>
  state === 'moved'
    ? new Problem('gone', 'The account has moved to another installation', {
        hint: 'run the command there; svc accounts list shows which accounts work here',
      })
    : new Problem('unavailable', 'The account is being moved: try again in a moment', {
        retryAfterSeconds: retrySeconds,
        hint: 'repeat svc accounts export if it was interrupted, or end it by svc accounts export <account> --abort',
      })

/** Throws Problem `unavailable` or `gone` for an account that is moving or has moved: nothing of it changes here. */
export const requireActive = (state: AccountState): void => {
  if (state !== 'active') throw refusalOf(state)
}

const readMoves = preparedStatement(
  'read-moves',
  { row: { id: 'text', move: typed<Move>('text') }, parameters: { ids: '_text' } },
  `select a.id, a.move from unnest(:ids::text[]) as i(id) cross join lateral (
     select id, move from accounts where id = i.id and deleted_at is null and move is not null limit 1
   ) a`,
)

const maxBatch = 256
const readTogether = coalesceCalls(
  maxBatch,
  async ({ sql }: { sql: Sql }, ids: readonly string[]): Promise<(Move | null)[]> => {
    const moves = new Map((await sql(readMoves, { ids })).map(({ id, move }) => [id, move]))
    return ids.map((id) => moves.get(id) ?? null)
  },
  { isShared: isSharedFailure },
)

/**
 * Throws Problem `unavailable` while the account is exported, `gone` after that. Code that reads an account's rows without a unit of
 * work calls it first. Calls that arrive while a statement is under way share the next one.
 */
export const requireHere = async (
  { sql, database }: Pick<App, 'sql' | 'database'>,
  accountId: string,
): Promise<void> => {
  const move = await readTogether({ sql }, database, '', accountId)
  requireActive(stateOf(move))
}

/** Throws the reason why no unit of work of the account can begin: Problem `unavailable`, `gone` or `not_found`. */
export const refuseWork = async (sql: Sql, accountId: string): Promise<never> => {
  const [row] = await sql(readMoves, { ids: [accountId] })
  if (row) requireActive(stateOf(row.move))
  throw notFound('There is no such account')
}

/** Throws Problem `unavailable` or `gone`, as `requireHere` does, for a value of `accounts.move` that the caller has read. */
export const requireNoMove = (move: string | null): void => requireActive(stateOf(move))

const markClosing = statement(
  'mark-account-closing',
  { row: { name: 'text', moveId: 'text', isFinal: 'bool' }, parameters: { accountId: 'text', key: 'text' } },
  `update accounts set move = coalesce(move, 'closing'), move_id = case when move is null then :key else move_id end
   where id = :accountId and deleted_at is null returning name, move_id as "moveId", move = 'exported' as "isFinal"`,
)

const markExporting = statement(
  'mark-account-exporting',
  { parameters: { accountId: 'text', moveId: 'text' } },
  `update accounts set move = 'exporting' where id = :accountId and move = 'closing' and move_id = :moveId`,
)

const markExported = statement(
  'mark-account-exported',
  { row: { id: 'text' }, parameters: { accountId: 'text', moveId: 'text' } },
  `update accounts set move = 'exported' where id = :accountId and move_id = :moveId and move in ('exporting', 'exported') and deleted_at is null returning id`,
)

const clearMark = statement(
  'clear-mark-of-export',
  { row: { id: 'text' }, parameters: { accountId: 'text' } },
  `update accounts set move = null, move_id = null where id = :accountId and move in ('closing', 'exporting') returning id`,
)

// PostgreSQL shows a session only the transactions of sessions of its own role.
const olderTransaction = statement(
  'find-older-transaction',
  { parameters: { at: typed<string>('timestamptz') } },
  `select from pg_stat_activity
   where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
     and xact_start < :at::timestamptz limit 1`,
)

const readQueueTables = statement(
  'read-queue-tables',
  { row: { name: 'text' } },
  `select c.relname::text as name from pg_class c
   where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and (
     select count(*) from pg_attribute a where a.attrelid = c.oid and a.attname in ('account_id', 'worker', 'claim')
   ) = 3 order by 1`,
)

/** Returns the tables of queues: their rows have the columns that queue/claims.ts describes. */
const queueTables = async (sql: Sql): Promise<string[]> => (await sql(readQueueTables)).map(({ name }) => name)

/** The SQL condition that the worker of the row `q` is alive. A dead one will never record its claim. */
const isOfLivingWorker = `exists (select ${sessionOfWorker('q.worker')})`

const isAnythingClaimed = async (sql: Sql, accountId: string, tables: readonly string[]): Promise<boolean> => {
  for (const table of tables) {
    const claimed = `select from "${table}" q where account_id = $1 and worker is not null and ${isOfLivingWorker} limit 1`
    if ((await sql(claimed, [accountId])).length > 0) return true
  }
  return false
}

const pollMs = 50

const databaseTime = statement('database-time', { row: { at: 'text' } }, 'select clock_timestamp()::text as at')

/** Waits until all transactions see the account's mark, and nothing of it is claimed. Rejects if `signal` is aborted. */
const settle = async ({ sql }: Pick<App, 'sql'>, accountId: string, signal: AbortSignal): Promise<void> => {
  const [{ at } = { at: '' }] = await sql(databaseTime)
  const tables = await queueTables(sql)
  const isSettled = async () =>
    (await sql(olderTransaction, { at })).length === 0 &&
    (await isAccountIdle(sql, accountId)) &&
    !(await isAnythingClaimed(sql, accountId, tables))
  while (!(await isSettled())) await sleep(pollMs, undefined, { signal })
}

const notify = (app: App, accountId: string, actor: string, hook: 'accountLeaves' | 'accountArrived'): Promise<void> =>
  app.operate(actor, async (operation) => {
    const work: Work = { ...operation, accountId, state: createStates() }
    for (const listener of await work.listeners()) await listener[hook]?.(work)
  })

/**
 * Ends everything of the account (id) in this installation, and waits for what is under way. Returns the id of the export, which a
 * repeated call keeps. Throws Problem `not_found`.
 */
export const beginExport = async (
  app: App,
  accountId: string,
  actor: string,
  signal: AbortSignal,
): Promise<{ name: string; moveId: string; isFinal: boolean }> => {
  const [marked] = await app.sql(markClosing, { accountId, key: randomUUID() })
  if (!marked) throw noSuch('account', accountId, { hint: 'svc accounts list' })
  await notify(app, accountId, actor, 'accountLeaves')
  await settle(app, accountId, signal)
  await app.sql(markExporting, { accountId, moveId: marked.moveId })
  await settle(app, accountId, signal)
  return marked
}

/** Marks the account as moved, for good. Throws Problem `conflict` if its export was aborted meanwhile. */
export const completeExport = async ({ sql }: Pick<App, 'sql'>, accountId: string, moveId: string): Promise<void> => {
  const marked = await sql(markExported, { accountId, moveId })
  if (marked.length === 0) throw conflict('The export was aborted meanwhile')
}

/** Notifies the jobs that an account works here, after its import or an aborted export: its queues continue. */
export const resumeAccount = (app: App, accountId: string, actor: string): Promise<void> =>
  notify(app, accountId, actor, 'accountArrived')

/** Aborts an export: the account works here again. Throws Problem `conflict` unless its export is under way or was interrupted. */
export const abortExport = async (app: App, accountId: string, actor: string): Promise<void> => {
  const cleared = await app.sql(clearMark, { accountId })
  if (cleared.length === 0)
    throw conflict('No export of this account is under way, or it is complete', {
      hint: 'a complete export is final: svc accounts import <file> in the other installation',
    })
  await resumeAccount(app, accountId, actor)
}

/** Returns the account's own row as it is stored. */
export const readAccountRow = async (sql: Sql, accountId: string): Promise<Record<string, unknown>> => {
  const [row] = await sql(readRow, { accountId })
  return row!.account
}

const readRow = statement(
  'read-row-of-account',
  { row: { account: typed<Record<string, unknown>>('jsonb') }, parameters: { accountId: 'text' } },
  'select to_jsonb(a) as account from accounts a where id = :accountId',
)

const findImported = statement(
  'find-imported-account',
  {
    row: { id: 'text', name: 'text', slug: 'text?', moveId: 'text?', isHere: 'bool' },
    parameters: { id: 'text', name: 'text', slug: 'text?' },
  },
  `select id, name, slug, move_id as "moveId", move is null and deleted_at is null as "isHere" from accounts
   where id = :id or name = :name or slug = :slug order by id = :id desc, name = :name desc limit 1`,
)

const hasPlan = statement(
  'find-plan-of-import',
  { parameters: { plan: 'text' } },
  'select from plans where name = :plan',
)

const insertRow = statement(
  'import-account',
  { parameters: { row: 'jsonb' } },
  `insert into accounts select * from jsonb_populate_record(null::accounts, :row::jsonb || '{"move": null}')`,
)

interface ImportedRow {
  id: string
  name: string
  slug: string | null
  plan: string
  move_id: string
}

/**
 * Inserts the row of an account that another installation exported. Returns false if the same export was imported before. Throws
 * Problem `conflict` if the account, its name or its slug exists, `not_found` if its plan does not.
 */
export const insertAccountRow = async (sql: Sql, row: ImportedRow): Promise<boolean> => {
  const { id, name, slug, plan, move_id } = row
  const [existing] = await sql(findImported, { id, name, slug })
  if (existing?.id === id && existing.isHere && existing.moveId === move_id) return false
  if (existing?.id === id)
    throw conflict(`The account ${shown(name)} already exists here`, {
      hint: existing.isHere ? 'svc accounts list' : `svc accounts delete ${id} deletes what is left of it`,
    })
  if (existing?.name === name)
    throw conflict(`There is already an account named ${shown(name)}`, { hint: 'svc accounts list' })
  if (existing) throw conflict(`The slug ${shown(slug!)} is taken`, { hint: 'svc accounts list' })
  if ((await sql(hasPlan, { plan })).length === 0)
    throw noSuch('plan', plan, { hint: 'svc plans list; the plan of the account must exist here' })
  await sql(insertRow, { row: JSON.stringify(row) })
  return true
}

/**
 * Frees the claims of an imported account. They belong to workers of the other installation, and a worker here can have the same
 * id.
 */
export const releaseImported = async (sql: Sql, accountId: string): Promise<void> => {
  for (const table of await queueTables(sql))
    await sql(`update "${table}" set worker = ${noWorker} where account_id = $1 and worker is not null`, [accountId])
}

/** An id that no worker has: the jobs free its claims like those of a dead worker. */
const noWorker = 0
