import { allAccounts } from '../accounts/accounts.rows.ts'
import { daysBefore, monthsBefore } from '../lib/days.ts'
import { idAt } from '../lib/ids.ts'
import { defineJob, inBatches, type Sweep } from '../store/background.ts'
import { forceIndexOrder } from '../store/database.ts'
import { purgeOf } from '../store/purge.ts'
import { statement } from '../store/statement.ts'
import type { App } from '../store/work.ts'

/** Deletes old entries of the access log. */
export const purgeAccessLog = purgeOf('access_log', 'log', allAccounts)

/** The start time counts if an import never finished. */
const oldImports = `
  select i.account_id as "accountId", i.id as "importId" from ${allAccounts} a cross join lateral (
    select account_id, id from imports i where i.account_id = a.id and i.id < :bound and coalesce(finished_at, started_at) < :before
      and (:only::text is null or i.account_id = :only)
    order by id
  ) i`
const oldImportsTypes = { bound: 'text', before: 'timestamptz', only: 'text?' } as const

const hasRejects = 'exists (select from import_rejects r where r.account_id = i.account_id and r.import_id = i.id)'

const findRejected = statement(
  'find-old-imports-with-rejects',
  { row: { accountId: 'text', importId: 'text' }, parameters: oldImportsTypes },
  `${oldImports} where ${hasRejects}`,
)

const deleteRejects = statement(
  'delete-old-rejects',
  {
    row: { gone: 'int8', last: 'int4?' },
    parameters: { accountId: 'text', importId: 'text', after: 'int4', batchSize: 'int8' },
  },
  `with old as materialized (
     select ctid as row, line from import_rejects where account_id = :accountId and import_id = :importId and line > :after
     order by line limit :batchSize
   ), gone as (
     delete from import_rejects where ctid = any(array(select row from old)) returning 1
   )
   select (select count(*) from gone) as gone, max(line) as last from old`,
)

const lockImports = statement(
  'lock-old-imports',
  { row: { id: 'text' }, parameters: { ...oldImportsTypes, batchSize: 'int8' } },
  `select o."importId" as id from (${oldImports} where not ${hasRejects} limit :batchSize) o cross join lateral (
     select from imports where id = o."importId" for update skip locked
   ) locked`,
)

// A separate statement, whose snapshot sees rejects that a resumed import has written meanwhile.
const deleteImports = statement(
  'delete-old-imports',
  { row: { id: 'text' }, parameters: { ids: '_text', before: 'timestamptz' } },
  `delete from imports i
   where i.id = any(:ids) and coalesce(i.finished_at, i.started_at) < :before and not ${hasRejects} returning id`,
)

/**
 * Deletes imports that ended before `before`, unfinished ones that began before it, and rejects of imports that ended before
 * `rejectsBefore`. No reject outlives its import. Works in small batches with pauses, until none is left or `signal` is aborted.
 * Returns the number of deleted rows.
 */
export const purgeImports = async (
  { sql, database }: Pick<App, 'sql' | 'database'>,
  before: Date,
  rejectsBefore: Date,
  { signal, batchSize = 1000, only = null }: Sweep = {},
): Promise<number> => {
  const latest = new Date(Math.max(before.getTime(), rejectsBefore.getTime()))
  let total = 0
  const rejected = await sql(findRejected, { bound: idAt('imp', latest.getTime()), before: latest, only })
  for (const { accountId, importId } of rejected) {
    let after = 0
    const batch = async () => {
      const [row] = await database.transaction(
        (tx) => tx(deleteRejects, { accountId, importId, after, batchSize }),
        forceIndexOrder,
      )
      after = row!.last ?? after
      return row!.gone
    }
    total += await inBatches(batchSize, batch, signal)
  }
  const batch = () =>
    database.transaction(async (tx) => {
      const old = await tx(lockImports, { bound: idAt('imp', before.getTime()), before, only, batchSize })
      return (await tx(deleteImports, { ids: old.map(({ id }) => id), before })).length
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
const purgeMailDomains = (
  { sql }: Pick<App, 'sql'>,
  before: Date,
  { signal, batchSize = 1000 }: Sweep,
): Promise<number> =>
  inBatches(batchSize, async () => (await sql(deleteDomains, { before, batchSize }))[0]!.gone, signal)

export const jobs = [
  defineJob('access log', {
    does: 'Deletes entries after SVC_ACCESS_LOG_RETENTION_MONTHS',
    runFor: (app, sweep) => purgeAccessLog(app, monthsBefore(app.now(), app.config.accessLogRetentionMonths), sweep),
  }),
  defineJob('imports', {
    does: 'Deletes imports and their rejected rows after SVC_{IMPORT,REJECT}_RETENTION_DAYS',
    async runFor(app, sweep) {
      const { importRetentionDays, rejectRetentionDays } = app.config
      const [before, rejectsBefore] = [importRetentionDays, rejectRetentionDays].map((days) =>
        daysBefore(app.now(), days),
      )
      await purgeImports(app, before!, rejectsBefore!, sweep)
    },
  }),
  defineJob('mail domains', {
    does: 'Deletes DNS answers about domains a day after they expired',
    runOnce: (app, signal) => purgeMailDomains(app, daysBefore(app.now(), 1), { signal }),
  }),
]
