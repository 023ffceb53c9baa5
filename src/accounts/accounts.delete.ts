import { setTimeout as sleep } from 'node:timers/promises'
import { noSuch, Problem } from '../lib/problem.ts'
import { isAccountIdle } from '../store/account-guard.ts'
import { type Deletion, defineJob } from '../store/background.ts'
import { forceIndexOrder, isUnavailable } from '../store/database.ts'
import { statement } from '../store/statement.ts'
import type { App, Operation, Work } from '../store/work.ts'
import { createStates } from '../store/work-state.ts'
import { deleteWindows } from './accounts.admission.ts'

/*
 * An account may own millions of rows. Its deletion must not slow down other accounts, so it is many short transactions:
 *
 * 1. The account is marked as deleted and its keys are revoked.
 * 2. Listeners cancel its deliveries and messages. Transactions that began before the mark finish (store/account-guard.ts), so no new rows
 *    appear.
 * 3. Its rows are deleted in batches, and its own row last.
 *
 * If the process is killed, the same command continues the deletion. Batches skip locked rows, so the deletion never waits for a
 * lock while it holds one, and can't be part of a deadlock.
 */

/** Maximum rows for each transaction. */
const batchSize = 1000
/** Pause after a full batch, as a multiple of the batch's duration: other accounts have the database meanwhile. */
const pauseFactor = 2
const firstWaitMs = 5
const maxWaitMs = 100

const findAnyAccount = statement(
  'find-account-even-closed',
  { row: { id: 'text', name: 'text' }, parameters: { ref: 'text' } },
  'select id, name from accounts where id = :ref or name = :ref order by id = :ref desc limit 1',
)

/** Finds an account by id or name, also one whose deletion has begun. Throws Problem `not_found`. */
export const findDeletable = async ({ sql }: Operation, ref: string): Promise<{ id: string; name: string }> => {
  const [account] = await sql(findAnyAccount, { ref })
  if (!account) throw noSuch('account', ref, { hint: 'svc accounts list' })
  return account
}

interface OwnedTable {
  name: string
  /** The columns of the primary key without the account. */
  key: string[]
}

// Read from the catalogue, so that no table of a new feature is forgotten. Referring tables come before referenced ones.
const readOwnedTables = statement(
  'read-tables-of-accounts',
  { row: { name: 'text', key: '_text' } },
  `
  with recursive owned as (
    select c.oid as id, c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and a.attname = 'account_id'
  ), reference (id, depth) as (
    select id, 0 from owned
    union
    select f.confrelid, reference.depth + 1
    from reference join pg_constraint f on f.contype = 'f' and f.conrelid = reference.id and f.confrelid <> f.conrelid
  ) cycle id set is_cycle using path
  select owned.name::text, (
    select coalesce(
      array_agg(quote_ident(a.attname) order by array_position(p.conkey, a.attnum)) filter (where a.attname <> 'account_id'),
      '{account_id}'
    ) from pg_constraint p join pg_attribute a on a.attrelid = p.conrelid and a.attnum = any(p.conkey)
    where p.conrelid = owned.id and p.contype = 'p'
  )::text[] as key
  from owned join reference on reference.id = owned.id group by owned.id, owned.name
  order by max(reference.depth), owned.name`,
)

const identifier = (name: string) => `"${name.replaceAll('"', '""')}"`

/** Returns the number of rows that the account owns, by table. One snapshot, because jobs move rows between tables. */
export const countOwned = async ({ sql }: Pick<Operation, 'sql'>, id: string): Promise<Record<string, number>> => {
  const tables = await sql(readOwnedTables)
  const counting = tables.map(
    ({ name }, i) => `select ${i} as at, count(*) as n from ${identifier(name)} where account_id = $1`,
  )
  const counts = await sql<{ at: number; n: number }>(`${counting.join(' union all ')} order by at`, [id])
  return Object.fromEntries(counts.filter(({ n }) => n > 0).map(({ at, n }) => [tables[at]!.name, n]))
}

const markDeleted = statement(
  'mark-account-deleted',
  { row: { id: 'text' }, parameters: { id: 'text', now: 'timestamptz' } },
  'update accounts set deleted_at = coalesce(deleted_at, :now) where id = :id returning id',
)

const revokeKeys = statement(
  'revoke-keys-of-account',
  { parameters: { id: 'text', now: 'timestamptz' } },
  'update api_keys set revoked_at = :now where account_id = :id and revoked_at is null',
)

/** Marks the account as deleted, revokes its keys, and has listeners cancel its deliveries and messages. Throws Problem `not_found`. */
const close = async (app: App, id: string, actor: string): Promise<void> => {
  await app.operate(actor, async ({ sql, now }) => {
    // Locks the account before its keys, as the creation of a webhook does.
    const rows = await sql(markDeleted, { id, now })
    if (rows.length === 0) throw noSuch('account', id, { hint: 'svc accounts list' })
    await sql(revokeKeys, { id, now })
  })
  await app.operate(actor, async (operation) => {
    const work: Work = { ...operation, accountId: id, state: createStates() }
    for (const listener of await work.listeners()) await listener.accountClosed?.(work)
  })
}

const findClosed = statement(
  'find-closed-accounts',
  { row: { id: 'text' } },
  'select id from accounts where deleted_at is not null order by id',
)

/**
 * Continues interrupted deletions of accounts, until `signal` is aborted. One that fails is reported and does not delay the others.
 * Rejects while the database is unavailable.
 */
export const finishAccountDeletions = async (app: App, signal: AbortSignal): Promise<void> => {
  for (const { id } of await app.sql(findClosed)) {
    if (signal.aborted) return
    await deleteAccount(app, id, { actor: 'job:housekeeping', signal }).catch((error) => {
      // Another process has completed the deletion.
      if (error instanceof Problem && error.kind === 'not_found') return
      if (isUnavailable(error)) throw error
      app.report(error, { account: id })
    })
  }
}

/** Polls `isDone` with growing waits, until it returns true or `signal` is aborted. */
const until = async (isDone: () => Promise<boolean>, signal: AbortSignal | undefined): Promise<void> => {
  for (let waitMs = firstWaitMs; !signal?.aborted && !(await isDone()); waitMs = Math.min(2 * waitMs, maxWaitMs)) {
    await sleep(waitMs)
  }
}

// In key order from the end of the previous batch, so that no batch scans rows that earlier ones have deleted.
const batchOf = ({ name, key }: OwnedTable, isFirst: boolean): string => `
  with batch as (
    select ctid as row, ${key.join(', ')} from ${identifier(name)} where account_id = $1
      ${isFirst ? '' : `and (${key.join(', ')}) > (${key.map((_, i) => `$${i + 2}`).join(', ')})`}
    order by ${key.join(', ')} limit ${batchSize} for update skip locked
  ), gone as (
    delete from ${identifier(name)} where ctid = any(array(select row from batch)) returning 1
  )
  select (select count(*) from gone) as gone, array[${key.map((column) => `${column}::text`).join(', ')}] as last
  from batch order by ${key.map((column) => `${column} desc`).join(', ')} limit 1`

/** Deletes the account's rows of a table in one pass, except locked ones. Returns the number of deleted rows. */
const sweep = async (
  { database }: App,
  id: string,
  table: OwnedTable,
  deletion: Deletion,
  before: number,
): Promise<number> => {
  let count = 0
  for (let last: string[] = []; !deletion.signal?.aborted; ) {
    const deletingBatch = batchOf(table, last.length === 0)
    const startedAt = performance.now()
    const [batch] = await database.transaction(
      (sql) => sql<{ gone: number; last: string[] }>(deletingBatch, [id, ...last]),
      forceIndexOrder,
    )
    if (!batch) break
    last = batch.last
    count += batch.gone
    deletion.onBatch?.(before + count)
    if (batch.gone === batchSize) await sleep(pauseFactor * (performance.now() - startedAt))
  }
  return count
}

const isEmpty = async ({ sql }: App, id: string, { name }: OwnedTable): Promise<boolean> =>
  (await sql(`select from ${identifier(name)} where account_id = $1 limit 1`, [id])).length === 0

const deleteAccountRow = statement(
  'delete-account',
  { parameters: { id: 'text' } },
  'delete from accounts where id = :id',
)

/**
 * Deletes the account (id) with everything that it owns, and returns the number of rows that this run deleted, by table. From
 * the first transaction on, its keys are refused, no list shows it, and its units of work throw `not_found`. Its name is free when
 * the deletion is complete. `isDone` is false if `signal` stopped it: the next run continues. Throws Problem `not_found`.
 */
export const deleteAccount = async (
  app: App,
  id: string,
  deletion: Deletion,
): Promise<{ deleted: Record<string, number>; isDone: boolean }> => {
  const { signal, actor } = deletion
  const deleted: Record<string, number> = {}
  await close(app, id, actor)
  await until(() => isAccountIdle(app.sql, id), signal)
  await deleteWindows(app, id)
  let total = 0
  const tables = await app.sql(readOwnedTables)
  const areEmpty = async () => {
    for (const table of tables) if (!(await isEmpty(app, id, table))) return false
    return true
  }
  // Repeats the pass over all tables if a job has moved a row to a table that was already empty.
  await until(async () => {
    for (const table of tables) {
      await until(async () => {
        const count = await sweep(app, id, table, deletion, total)
        total += count
        if (count > 0) deleted[table.name] = (deleted[table.name] ?? 0) + count
        return isEmpty(app, id, table)
      }, signal)
    }
    return areEmpty()
  }, signal)
  if (!signal?.aborted) await app.sql(deleteAccountRow, { id })
  return { deleted, isDone: !signal?.aborted }
}

export const jobs = [
  defineJob('account deletions', {
    does: 'Continues interrupted deletions of accounts',
    runOnce: finishAccountDeletions,
  }),
]
