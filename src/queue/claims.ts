import type { Database, Sql } from '../store/database.ts'

/*
 * Columns that all queue tables share: `account_id`, `id`, `worker`, which is null while unclaimed, and `claim`, which counts
 * claims. Only the newest claim of an item may change it, so late results of a former owner have no effect.
 */

/** A claim of one item. */
export interface Claim {
  accountId: string
  id: string
  /** The number of this claim among the claims of the item. */
  claim: number
  worker: number
}

/** Returns claims as a parameter of the statements below. */
export const claimsJson = (claims: readonly Claim[]): string =>
  JSON.stringify(claims.map(({ accountId, id, claim, worker }) => ({ accountId, id, claim, worker })))

const columns = '"accountId" text, id text, claim int, worker int'
const matching = (table: string) => `
  select ctid as row from ${table}
  where account_id = c."accountId" and id = c.id and claim = c.claim and worker = c.worker`

/**
 * Returns SQL for `from`: the claims of a parameter (JSON, with `more` columns) as `c`, each with the ctid of its locked row as
 * `l.row`. It skips claims that are no longer the newest, and rows that another transaction has locked. Laterals and ctids leave
 * the planner only one plan, so the statement can stay prepared.
 */
export const ownedRows = (table: string, more = '', claims = '$1'): string => `
  jsonb_to_recordset(${claims}::jsonb) as c(${columns}${more}) cross join lateral (${matching(table)} for update skip locked) l`

/** Returns the ids of the claims that are still the newest, locked or not. */
const stillOurs = async (sql: Sql, table: string, claims: readonly Claim[]): Promise<Set<string>> => {
  if (claims.length === 0) return new Set()
  const rows = await sql<{ id: string }>(
    `select c.id from jsonb_to_recordset($1::jsonb) as c(${columns}) cross join lateral (${matching(table)} limit 1) l`,
    [claimsJson(claims)],
  )
  return new Set(rows.map(({ id }) => id))
}

/**
 * Splits `items` after a statement that changed the rows of the claims in `changed`. Another transaction has the rows of `locked`:
 * those can be tried again. Items in neither array belong to a newer claim, or have ended.
 */
export const splitByOutcome = async <Item>(
  sql: Sql,
  table: string,
  items: readonly Item[],
  claimOf: (item: Item) => Claim,
  changed: ReadonlySet<string>,
): Promise<{ done: Item[]; locked: Item[] }> => {
  const done = items.filter((item) => changed.has(claimOf(item).id))
  if (done.length === items.length) return { done, locked: [] }
  const open = items.filter((item) => !changed.has(claimOf(item).id))
  const ours = await stillOurs(sql, table, open.map(claimOf))
  return { done, locked: open.filter((item) => ours.has(claimOf(item).id)) }
}

/** No index has the worker, since every claim would have to write it. So this rare search scans the table. */
const allowTableScan = 'set local enable_seqscan = on'

/**
 * Returns the claims of dead workers: those in `dead`, and those without a row in `workers`. With `own` also the claims of that
 * worker.
 */
export const findClaims = (
  { transaction }: Pick<Database, 'transaction'>,
  table: string,
  dead: readonly number[],
  own: number | null,
): Promise<Claim[]> =>
  transaction(
    (sql) =>
      sql<Claim>(
        `select account_id as "accountId", id, claim, worker from ${table} q
         where worker is not null and (worker = $2 or worker = any($1) or not exists (select from workers w where w.id = q.worker))`,
        [dead, own],
      ),
    allowTableScan,
  )
