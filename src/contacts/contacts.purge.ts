import { idAt } from '../lib/ids.ts'
import { inBatches } from '../store/batches.ts'
import { alongAnIndex } from '../store/database.ts'
import type { App } from '../store/work.ts'

/*
 * As deliveries are purged: ids are ordered by time, so what is old is the start of each account's part of the key. Each
 * batch goes on behind the last one: none looks at what the ones before it have deleted. Rows are named by ctid (none of
 * them is ever updated).
 */

const oldReaders = `
  select a.id from accounts a cross join lateral (
    select from access_log l where l.account_id = a.id and l.id < $1 order by l.id limit 1
  ) l`

const oldReads = `
  with old as materialized (
    select ctid as row, id from access_log where account_id = $1 and id > $2 and id < $3 order by id limit $4
  ), gone as (
    delete from access_log where ctid = any(array(select row from old)) returning 1
  )
  select (select count(*) from gone) as gone, max(id) as last from old`

/** Of an import that was broken off and never went on, the start counts. */
const oldImports = `
  select i.account_id, i.id from accounts a cross join lateral (
    select account_id, id from imports i where i.account_id = a.id and i.id < $1 and coalesce(finished_at, started_at) < $2
    order by id
  ) i`

const hasRejects = 'exists (select from import_rejects r where r.account_id = i.account_id and r.import_id = i.id)'

const oldRejects = `
  with old as materialized (
    select ctid as row, line from import_rejects where account_id = $1 and import_id = $2 and line > $3
    order by line limit $4
  ), gone as (
    delete from import_rejects where ctid = any(array(select row from old)) returning 1
  )
  select (select count(*) from gone) as gone, max(line) as last from old`

const lockImports = `
  select o.id from (${oldImports} where not ${hasRejects} limit $3) o cross join lateral (
    select from imports where id = o.id for update skip locked
  ) locked`

// A statement later: what an import has written by now, if it went on meanwhile, is seen here.
const deleteImports = `
  delete from imports i
  where i.id = any($1) and coalesce(i.finished_at, i.started_at) < $2 and not ${hasRejects} returning 1`

interface Batch<Key> {
  gone: number
  last: Key | null
}

/**
 * Deletes the entries of the access log from before `before`, in small batches with rests, until nothing is left or
 * `signal` is aborted. Gives how many went.
 */
export const purgeAccessLog = async (
  { sql, database }: Pick<App, 'sql' | 'database'>,
  before: Date,
  signal?: AbortSignal,
  batchSize = 1000,
): Promise<number> => {
  const bound = idAt('log', before.getTime())
  let total = 0
  for (const { id } of await sql<{ id: string }>(oldReaders, [bound])) {
    let last = ''
    const batch = async () => {
      const [row] = await database.transaction(
        (tx) => tx<Batch<string>>(oldReads, [id, last, bound, batchSize]),
        alongAnIndex,
      )
      last = row!.last ?? last
      return row!.gone
    }
    total += await inBatches(batchSize, batch, signal)
  }
  return total
}

/**
 * Deletes imports that ended before `before` (never ended: began), and the rejects of those that did before
 * `rejectsBefore`; no reject outlives its import. In small batches with rests, until nothing is left or `signal` is aborted.
 * Gives how many rows went.
 */
export const purgeImports = async (
  { sql, database }: Pick<App, 'sql' | 'database'>,
  before: Date,
  rejectsBefore: Date,
  signal?: AbortSignal,
  batchSize = 1000,
): Promise<number> => {
  const latest = new Date(Math.max(before.getTime(), rejectsBefore.getTime()))
  let total = 0
  const rejected = await sql<{ account_id: string; id: string }>(`${oldImports} where ${hasRejects}`, [
    idAt('imp', latest.getTime()),
    latest,
  ])
  for (const { account_id: accountId, id } of rejected) {
    let last = 0
    const batch = async () => {
      const [row] = await database.transaction(
        (tx) => tx<Batch<number>>(oldRejects, [accountId, id, last, batchSize]),
        alongAnIndex,
      )
      last = row!.last ?? last
      return row!.gone
    }
    total += await inBatches(batchSize, batch, signal)
  }
  const batch = () =>
    database.transaction(async (tx) => {
      const old = await tx<{ id: string }>(lockImports, [idAt('imp', before.getTime()), before, batchSize])
      return (await tx(deleteImports, [old.map(({ id }) => id), before])).length
    })
  return total + (await inBatches(batchSize, batch, signal))
}

const oldDomains = `
  with old as materialized (
    select ctid as row from mail_domains where expires_at < $1 order by expires_at limit $2 for update skip locked
  ), gone as (
    delete from mail_domains where ctid = any(array(select row from old)) returning 1
  )
  select count(*) as gone from gone`

/** Forgets what DNS said of mail domains that expired before `before`, in batches with rests. */
export const purgeMailDomains = (
  { sql }: Pick<App, 'sql'>,
  before: Date,
  signal?: AbortSignal,
  batchSize = 1000,
): Promise<number> =>
  inBatches(batchSize, async () => (await sql<{ gone: number }>(oldDomains, [before, batchSize]))[0]!.gone, signal)
