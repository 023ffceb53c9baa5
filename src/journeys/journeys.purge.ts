/*
 * Entries into journeys are remembered when runs are purged. `reentry: never` holds for ever, but runs are purged after
 * their retention. The statement that deletes a run writes a row to `past_entries`. An entry looks at runs and at that
 * table. The row is kept whatever rule the journey has, since its next version may have another. An entry costs one
 * more look at a key instead of one more row. Nothing is remembered of runs that were purged before this decision.
 */

import { isAddress, isList } from '../contacts/contacts.rows.ts'
import { daysBefore } from '../lib/days.ts'
import { defineJob, inBatches, type Sweep } from '../store/background.ts'
import { statement } from '../store/statement.ts'
import type { App } from '../store/work.ts'

// One statement deletes a run and inserts its contact into `past_entries`, so that an entry always sees one of the two rows. It
// does so for every re-entry rule, because the journey's next version may have another rule. It skips contacts of erased
// addresses, and of lists and accounts that are being deleted.
const purgeOldRuns = statement(
  'purge-runs',
  { row: { count: 'int8' }, parameters: { before: 'timestamptz', batchSize: 'int8', only: 'text?' } },
  `with old as materialized (
     select ctid as row, account_id, id, journey_id, list_id, row_id, email from journey_runs
     where ended_at < :before and (:only::text is null or account_id = :only) order by ended_at limit :batchSize for update skip locked
   ), existing_accounts as materialized (
     select account_id from (select distinct account_id from old) a where account_works(account_id)
   ), remembered as (
     insert into past_entries (account_id, list_id, row_id, journey_id)
     select distinct o.account_id, o.list_id, o.row_id, o.journey_id from old o join existing_accounts l on l.account_id = o.account_id
     where ${isList('o.list_id')} and ${isAddress({ account: 'o.account_id', email: 'o.email', rowId: 'o.row_id' })}
     order by 1, 2, 3, 4 on conflict do nothing
   ), logs as (
     delete from journey_step_log where ctid = any(array(
       select l.row from old cross join lateral (
         select ctid as row from journey_step_log where account_id = old.account_id and run_id = old.id offset 0
       ) l
     ))
   ), gone as (
     delete from journey_runs where ctid = any(array(select row from old)) returning 1
   )
   select count(*) from gone`,
)

const dropOldData = statement(
  'drop-run-data',
  { row: { id: 'text' }, parameters: { before: 'timestamptz', batchSize: 'int8', only: 'text?' } },
  `update journey_runs set context = context - 'data' where ctid = any(array(
     select ctid from journey_runs where ended_at < :before and (context -> 'data') is not null and (:only::text is null or account_id = :only)
     order by ended_at limit :batchSize for no key update skip locked
   )) returning id`,
)

// The first check of a version is an hour after its successor was created: until then, open transactions may still enter contacts
// into it. A version that still has runs is checked again an hour later. Those of deleted journeys end with their deletion
// (journeys.cancel.ts).
const purgeOldVersions = statement(
  'purge-versions',
  { row: { count: 'int8' }, parameters: { now: 'timestamptz', batchSize: 'int8', only: 'text?' } },
  `with checked as materialized (
     select v.account_id, v.journey_id, v.version, exists (
       select from journey_runs r where r.journey_id = v.journey_id and r.version = v.version
         and r.status in ('running', 'waiting') offset 0
     ) as is_used
     from (
       select * from journey_versions v
       where look_at <= :now and exists (select from journeys where id = v.journey_id) and (:only::text is null or account_id = :only)
       order by look_at limit :batchSize
       for no key update skip locked
     ) v
   ), later as (
     update journey_versions v set look_at = :now::timestamptz + interval '1 hour' from checked l
     where l.is_used and v.account_id = l.account_id and v.journey_id = l.journey_id and v.version = l.version
   ), exits as (
     delete from journey_exits x using checked l
     where not l.is_used and x.account_id = l.account_id and x.journey_id = l.journey_id and x.version = l.version
   ), gone as (
     delete from journey_versions v using checked l
     where not l.is_used and v.account_id = l.account_id and v.journey_id = l.journey_id and v.version = l.version
   )
   select count(*) from checked`,
)

const counted = async (rows: Promise<{ count: number }[]>): Promise<number> => (await rows)[0]!.count

/**
 * Deletes runs that ended before `before` with their step logs, and records which contacts have been in which journeys. Works in
 * small batches with pauses, until no such run is left or `signal` is aborted. Returns the number of deleted runs.
 */
export const purgeRuns = (
  { sql }: Pick<App, 'sql'>,
  before: Date,
  { signal, batchSize = 500, only = null }: Sweep = {},
) => inBatches(batchSize, () => counted(sql(purgeOldRuns, { before, batchSize, only })), signal)

/** Deletes the triggers' data of runs that ended before `before`, in small batches. Returns the number of changed runs. */
export const dropRunData = (
  { sql }: Pick<App, 'sql'>,
  before: Date,
  { signal, batchSize = 500, only = null }: Sweep = {},
) => inBatches(batchSize, async () => (await sql(dropOldData, { before, batchSize, only })).length, signal)

/** Deletes replaced versions that have no open runs, with their exit rules. Returns the number of checked versions. */
export const purgeVersions = (
  { sql, now }: Pick<App, 'sql' | 'now'>,
  { signal, batchSize = 500, only = null }: Sweep = {},
) => inBatches(batchSize, () => counted(sql(purgeOldVersions, { now: now(), batchSize, only })), signal)

export const jobs = [
  defineJob('journey runs', {
    does: 'Deletes ended runs after SVC_JOURNEY_RETENTION_DAYS',
    runFor: (app, sweep) => purgeRuns(app, daysBefore(app.now(), app.config.journeyRetentionDays), sweep),
  }),
  defineJob('journey data', {
    does: 'Deletes the data of ended runs after SVC_MESSAGE_RETENTION_DAYS',
    async runFor(app, sweep) {
      const { messageRetentionDays } = app.config
      if (messageRetentionDays === 0) return
      await dropRunData(app, daysBefore(app.now(), messageRetentionDays), sweep)
    },
  }),
  defineJob('journey versions', {
    does: 'Deletes replaced versions without open runs',
    runFor: purgeVersions,
  }),
]
