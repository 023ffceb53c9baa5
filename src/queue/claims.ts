import type { Database, Sql } from '../store/database.ts'

/*
 * Columns that all queue tables share: `account_id`, `id`, `worker`, which is null while unclaimed, and `claim`, which counts
 * claims. Only the newest claim of an item may change it, so late results of a former owner have no effect.
 */

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
 * Returns the claims of dead workers: those in `dead`, and those without a row in `workers`. With `own` it also returns the
 * claims of that worker.
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

/** Interval of the search for orphaned claims. */
const rareMs = 30_000
/** That search, which scans the queue, takes at most 1/50 of the time. */
const restFactor = 50
/** A claim of this worker that the process does not know may be in an answer on its way: it is freed if it still exists this much later. */
const confirmMs = 2000
/** The server may complete a statement after its client died or lost the connection: for this long the search is repeated every `confirmMs`. */
const unsureMs = 10_000
const freeSize = 1000

interface Ports {
  database: Database
  table: string
  /** Returns the id of this worker, if it has one. */
  own(): number | null
  /** Whether this process knows the item's claim. */
  isTracked(id: string): boolean
  free(claims: readonly Claim[]): Promise<unknown>
  /** Called after claims were freed, with their number. */
  freed(count: number): void
}

const keyOf = ({ id, claim }: Claim): string => `${id} ${claim}`

/** Finds claims that no worker holds, and frees them. */
export const createReconciliation = ({ database, table, own, isTracked, free, freed }: Ports) => {
  let dueAt = 0
  let unsureUntil = 0
  let running: Promise<number> | null = null
  /** When each untracked claim of this worker was first found. */
  let untrackedSince = new Map<string, number>()

  /** Returns the untracked claims that were untracked already `confirmMs` ago. */
  const confirmed = (untracked: readonly Claim[]): Claim[] => {
    const nowMs = performance.now()
    untrackedSince = new Map(untracked.map((claim) => [keyOf(claim), untrackedSince.get(keyOf(claim)) ?? nowMs]))
    return untracked.filter((claim) => nowMs - untrackedSince.get(keyOf(claim))! >= confirmMs)
  }

  const freeAll = async (claims: readonly Claim[]): Promise<void> => {
    for (let i = 0; i < claims.length; i += freeSize) await free(claims.slice(i, i + freeSize))
    if (claims.length > 0) freed(claims.length)
  }

  const search = async (dead: readonly number[]): Promise<number> => {
    const startedAt = performance.now()
    const id = own()
    const found = await findClaims(database, table, dead, id)
    const orphans = found.filter(({ worker }) => worker !== id)
    await freeAll([...orphans, ...confirmed(found.filter((claim) => claim.worker === id && !isTracked(claim.id)))])
    const restMs = Math.max(rareMs, restFactor * (performance.now() - startedAt))
    const isSoon = id === null || untrackedSince.size > 0 || startedAt < unsureUntil
    dueAt = performance.now() + (isSoon ? confirmMs : restMs)
    return orphans.length
  }

  /** Searches, or waits for the search under way. Resolves with the number of claims of other workers that it found. */
  const run = (dead: readonly number[] = []): Promise<number> => {
    running ??= search(dead).finally(() => {
      running = null
    })
    return running
  }

  return {
    run,
    /** Frees the claims of dead workers. A search that is already under way does not know of them. */
    async runFor(dead: readonly number[]): Promise<number> {
      while (running) await running
      return run(dead)
    },
    /** Searches soon, and often for a while. */
    soon() {
      unsureUntil = performance.now() + unsureMs
      dueAt = 0
    },
    /** Returns the ms until the next search, or 0 if it is due. */
    waitMs: (): number => Math.max(0, dueAt - performance.now()),
  }
}
