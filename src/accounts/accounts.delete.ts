import { setTimeout as sleep } from 'node:timers/promises'
import { missing } from '../lib/problem.ts'
import { alongAnIndex } from '../store/database.ts'
import { isIdle } from '../store/living.ts'
import type { App, Operation } from '../store/work.ts'
import { deleteWindows } from './accounts.admission.ts'

/*
 * An account may own millions of rows, and its neighbours are not to feel that they go: a deletion is many short
 * transactions. The first one ends the account: marked, its keys revoked. Then what leaves for it ends, and what began
 * before is waited for (store/living.ts): nothing comes any more. Then its rows go, a batch at a time, and last its own. Killed
 * anywhere, it is taken up again by the same command.
 *
 * It waits for a row that somebody holds only while it holds none itself (`skip locked`): it is in nobody's deadlock.
 */

/** Rows that one transaction takes. */
const batchSize = 1000
/** After a batch the database is the neighbours' for so many times what it took. */
const restFactor = 2
const firstWaitMs = 5
const longestWaitMs = 100

export interface Deletion {
  actor: string
  /** Once aborted, the deletion stops after the batch at work. */
  signal?: AbortSignal
  /** After each batch, with the rows gone so far in this run. */
  onBatch?(rows: number): void
}

/** An account to delete, by id or by name: also one whose deletion has begun. Throws Problem `missing`. */
export const findDeletable = async ({ sql }: Operation, ref: string): Promise<{ id: string; name: string }> => {
  const [account] = await sql<{ id: string; name: string }>(
    'select id, name from accounts where id = $1 or name = $1 order by id = $1 desc limit 1',
    [ref],
  )
  if (!account) throw missing(`There is no account ${ref}`, { hint: 'svc accounts list' })
  return account
}

interface OwnedTable {
  name: string
  /** The columns that tell an account's rows apart: of the primary key, those beside the account. */
  key: string[]
}

// Asked of the database, so that a new feature can't be forgotten here. What refers to another table goes before that.
const ownedTables = `
  with recursive owned as (
    select c.oid as id, c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and a.attname = 'account_id'
  ), reference (id, depth) as (
    select id, 0 from owned
    union
    select f.confrelid, reference.depth + 1
    from reference join pg_constraint f on f.contype = 'f' and f.conrelid = reference.id and f.confrelid <> f.conrelid
  ) cycle id set is_cycle using path
  select owned.name, (
    select coalesce(
      array_agg(quote_ident(a.attname) order by array_position(p.conkey, a.attnum)) filter (where a.attname <> 'account_id'),
      '{account_id}'
    ) from pg_constraint p join pg_attribute a on a.attrelid = p.conrelid and a.attnum = any(p.conkey)
    where p.conrelid = owned.id and p.contype = 'p'
  )::text[] as key
  from owned join reference on reference.id = owned.id group by owned.id, owned.name
  order by max(reference.depth), owned.name`

const identifier = (name: string) => `"${name.replaceAll('"', '""')}"`

/** How many rows the account owns, by table: all at one moment, as jobs move rows from one table to another. */
export const countOwned = async ({ sql }: Pick<Operation, 'sql'>, id: string): Promise<Record<string, number>> => {
  const tables = await sql<OwnedTable>(ownedTables)
  const counting = tables.map(
    ({ name }, i) => `select ${i} as at, count(*) as n from ${identifier(name)} where account_id = $1`,
  )
  const counts = await sql<{ at: number; n: number }>(`${counting.join(' union all ')} order by at`, [id])
  return Object.fromEntries(counts.filter(({ n }) => n > 0).map(({ at, n }) => [tables[at]!.name, n]))
}

/** Ends the account: its keys open nothing from here on, and what leaves for it ends. */
const close = async (app: App, id: string, actor: string): Promise<void> => {
  await app.operate(actor, async ({ sql, now }) => {
    // The account before its keys, as whoever makes a webhook.
    const rows = await sql('update accounts set deleted_at = coalesce(deleted_at, $2) where id = $1 returning 1', [
      id,
      now,
    ])
    if (rows.length === 0) throw missing(`There is no account ${id}`, { hint: 'svc accounts list' })
    await sql('update api_keys set revoked_at = $2 where account_id = $1 and revoked_at is null', [id, now])
  })
  await app.operate(actor, async (operation) => {
    const work = Object.assign(operation, { accountId: id })
    for (const listener of work.listeners) await listener.accountClosed?.(work)
  })
}

/** Waits, longer each time, until `isDone` or `signal`. */
const until = async (isDone: () => Promise<boolean>, signal: AbortSignal | undefined): Promise<void> => {
  for (let waitMs = firstWaitMs; !signal?.aborted && !(await isDone()); waitMs = Math.min(2 * waitMs, longestWaitMs)) {
    await sleep(waitMs)
  }
}

// In the order of the key and from where the last batch ended: none looks at what the ones before it have deleted.
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

/** Goes once over the account's rows of a table; what somebody holds locked stays. Gives how many went. */
const sweep = async (
  { database }: App,
  id: string,
  table: OwnedTable,
  deletion: Deletion,
  before: number,
): Promise<number> => {
  let count = 0
  for (let last: string[] = []; !deletion.signal?.aborted; ) {
    const statement = batchOf(table, last.length === 0)
    const startedAt = performance.now()
    const [batch] = await database.transaction(
      (sql) => sql<{ gone: number; last: string[] }>(statement, [id, ...last]),
      alongAnIndex,
    )
    if (!batch) break
    last = batch.last
    count += batch.gone
    deletion.onBatch?.(before + count)
    if (batch.gone === batchSize) await sleep(restFactor * (performance.now() - startedAt))
  }
  return count
}

const isEmpty = async ({ sql }: App, id: string, { name }: OwnedTable): Promise<boolean> =>
  (await sql(`select from ${identifier(name)} where account_id = $1 limit 1`, [id])).length === 0

/**
 * Deletes the account (id) with everything that it owns, and gives the number of rows by table that went in this run. From
 * the first moment its keys are refused, it is in no list, and every unit of work of it throws `missing`; its name is free
 * when all is gone. `isDone` is false where `signal` stopped it: the next run goes on. Throws Problem `missing`.
 */
export const deleteAccount = async (
  app: App,
  id: string,
  deletion: Deletion,
): Promise<{ deleted: Record<string, number>; isDone: boolean }> => {
  const { signal, actor } = deletion
  const deleted: Record<string, number> = {}
  await close(app, id, actor)
  await until(() => isIdle(app.sql, id), signal)
  await deleteWindows(app, id)
  let total = 0
  const tables = await app.sql<OwnedTable>(ownedTables)
  const areEmpty = async () => {
    for (const table of tables) if (!(await isEmpty(app, id, table))) return false
    return true
  }
  // All of them again where a job has moved a row meanwhile, from a table that was still to come to one that was done.
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
  if (!signal?.aborted) await app.sql('delete from accounts where id = $1', [id])
  return { deleted, isDone: !signal?.aborted }
}
