import { allAccounts } from '../accounts/accounts.ts'
import { daysBefore, monthsBefore } from '../lib/days.ts'
import { idAt } from '../lib/ids.ts'
import { defineJob, inBatches } from '../store/background.ts'
import { forceIndexOrder } from '../store/database.ts'
import { statement } from '../store/statement.ts'
import type { App } from '../store/work.ts'

/*
 * Ids are ordered by time, so old rows are at the start of each account's range of the key, as for deliveries. Each batch starts
 * after the previous one, so that it does not scan deleted rows. Rows are identified by ctid, because they are never updated.
 */

const findOldReaders = statement(
  'find-old-readers',
  { row: { id: 'text' }, parameters: { bound: 'text', only: 'text?' } },
  `select a.id from ${allAccounts} a cross join lateral (
     select from access_log l where l.account_id = a.id and l.id < :bound order by l.id limit 1
   ) l where :only::text is null or a.id = :only`,
)

const deleteReads = statement<{ gone: number; last: string | null }>(
  'delete-old-reads',
  { gone: 'int8', last: 'text' },
  `with old as materialized (
     select ctid as row, id from access_log where account_id = $1 and id > $2 and id < $3 order by id limit $4
   ), gone as (
     delete from access_log where ctid = any(array(select row from old)) returning 1
   )
   select (select count(*) from gone) as gone, max(id) as last from old`,
)

/** For an import that never finished, the start time counts. */
const oldImports = `
  select i.account_id, i.id from ${allAccounts} a cross join lateral (
    select account_id, id from imports i where i.account_id = a.id and i.id < $1 and coalesce(finished_at, started_at) < $2
      and ($3::text is null or i.account_id = $3)
    order by id
  ) i`

const hasRejects = 'exists (select from import_rejects r where r.account_id = i.account_id and r.import_id = i.id)'

const findRejected = statement<{ account_id: string; id: string }>(
  'find-old-imports-with-rejects',
  { account_id: 'text', id: 'text' },
  `${oldImports} where ${hasRejects}`,
)

const deleteRejects = statement<{ gone: number; last: number | null }>(
  'delete-old-rejects',
  { gone: 'int8', last: 'int4' },
  `with old as materialized (
     select ctid as row, line from import_rejects where account_id = $1 and import_id = $2 and line > $3
     order by line limit $4
   ), gone as (
     delete from import_rejects where ctid = any(array(select row from old)) returning 1
   )
   select (select count(*) from gone) as gone, max(line) as last from old`,
)

const lockImports = statement<{ id: string }>(
  'lock-old-imports',
  { id: 'text' },
  `select o.id from (${oldImports} where not ${hasRejects} limit $4) o cross join lateral (
     select from imports where id = o.id for update skip locked
   ) locked`,
)

// A separate statement, whose snapshot sees rejects that a resumed import has written meanwhile.
const deleteImports = statement<{ id: string }>(
  'delete-old-imports',
  { id: 'text' },
  `delete from imports i
   where i.id = any($1) and coalesce(i.finished_at, i.started_at) < $2 and not ${hasRejects} returning id`,
)

/**
 * Deletes access log entries from before `before`, in small batches with pauses, until none is left or `signal` is aborted. Returns the
 * number of deleted rows.
 */
export const purgeAccessLog = async (
  { sql, database }: Pick<App, 'sql' | 'database'>,
  before: Date,
  signal?: AbortSignal,
  batchSize = 1000,
  only: string | null = null,
): Promise<number> => {
  const bound = idAt('log', before.getTime())
  let total = 0
  for (const { id } of await sql(findOldReaders, { bound, only })) {
    let last = ''
    const batch = async () => {
      const [row] = await database.transaction((tx) => tx(deleteReads, [id, last, bound, batchSize]), forceIndexOrder)
      last = row!.last ?? last
      return row!.gone
    }
    total += await inBatches(batchSize, batch, signal)
  }
  return total
}

/**
 * Deletes imports that ended before `before` (unfinished ones: began), and rejects of imports that ended before `rejectsBefore`. No reject
 * outlives its import. Works in small batches with pauses, until none is left or `signal` is aborted. Returns the number of deleted rows.
 */
export const purgeImports = async (
  { sql, database }: Pick<App, 'sql' | 'database'>,
  before: Date,
  rejectsBefore: Date,
  signal?: AbortSignal,
  batchSize = 1000,
  only: string | null = null,
): Promise<number> => {
  const latest = new Date(Math.max(before.getTime(), rejectsBefore.getTime()))
  let total = 0
  const rejected = await sql(findRejected, [idAt('imp', latest.getTime()), latest, only])
  for (const { account_id: accountId, id } of rejected) {
    let last = 0
    const batch = async () => {
      const [row] = await database.transaction(
        (tx) => tx(deleteRejects, [accountId, id, last, batchSize]),
        forceIndexOrder,
      )
      last = row!.last ?? last
      return row!.gone
    }
    total += await inBatches(batchSize, batch, signal)
  }
  const batch = () =>
    database.transaction(async (tx) => {
      const old = await tx(lockImports, [idAt('imp', before.getTime()), before, only, batchSize])
      return (await tx(deleteImports, [old.map(({ id }) => id), before])).length
    })
  return total + (await inBatches(batchSize, batch, signal))
}

const deleteDomains = statement(
  'delete-old-mail-domains',
  { row: { gone: 'int8' }, parameters: { before: 'timestamptz', batchSize: 'int8' } },
  `with old as materialized (
     select ctid as row from mail_domains where expires_at < :before order by expires_at limit :batchSize for update skip locked
   ), gone as (
     delete from mail_domains where ctid = any(array(select row from old)) returning 1
   )
   select count(*) as gone from gone`,
)

/** Deletes cached DNS answers that expired before `before`, in batches with pauses. Returns the number of deleted rows. */
export const purgeMailDomains = (
  { sql }: Pick<App, 'sql'>,
  before: Date,
  signal?: AbortSignal,
  batchSize = 1000,
): Promise<number> =>
  inBatches(batchSize, async () => (await sql(deleteDomains, { before, batchSize }))[0]!.gone, signal)

export const jobs = [
  defineJob('access log', {
    does: 'Deletes entries after SVC_ACCESS_LOG_RETENTION_MONTHS',
    runFor: (app, signal, only) =>
      purgeAccessLog(app, monthsBefore(app.now(), app.config.accessLogRetentionMonths), signal, undefined, only),
  }),
  defineJob('imports', {
    does: 'Deletes imports and their rejected rows after SVC_{IMPORT,REJECT}_RETENTION_DAYS',
    async runFor(app, signal, only) {
      const { importRetentionDays, rejectRetentionDays } = app.config
      const [before, rejectsBefore] = [importRetentionDays, rejectRetentionDays].map((days) =>
        daysBefore(app.now(), days),
      )
      await purgeImports(app, before!, rejectsBefore!, signal, undefined, only)
    },
  }),
  defineJob('mail domains', {
    does: 'Deletes DNS answers about domains a day after they expired',
    runOnce: (app, signal) => purgeMailDomains(app, daysBefore(app.now(), 1), signal),
  }),
]
