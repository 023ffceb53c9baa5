import { defineJob, inBatches, type Sweep } from '../store/background.ts'
import type { Sql } from '../store/database.ts'
import { statement } from '../store/statement.ts'
import type { AccountSql, App } from '../store/work.ts'

/*
 * Rows without references are deleted in two steps. One statement locks them; a later one, whose snapshot is younger than the
 * lock, checks again and deletes. A single statement would check before it waits for the lock, and so delete a row that another
 * transaction has started to refer to. Targets are locked before deliveries, as everywhere.
 */

const findOld = statement(
  'find-old-deliveries',
  {
    row: { accountId: 'text', id: 'text', targetId: 'text' },
    parameters: { before: 'timestamptz', size: 'int8', only: 'text?' },
  },
  `select account_id as "accountId", id, target_id as "targetId" from ended_deliveries
   where finished_at < :before and created_at < :before and (:only::text is null or account_id = :only) order by finished_at limit :size`,
)

const isPendingFor = (target: string) => `exists (select from pending_deliveries d where d.target_id = ${target}.id)`
const hasEndedFor = (target: string, more = '') =>
  `exists (select from ended_deliveries d where d.account_id = ${target}.account_id and d.target_id = ${target}.id ${more})`

// Only targets whose last deliveries are about to be deleted: a target in use is not locked.
const lockTargets = statement(
  'lock-targets-without-deliveries',
  { row: { id: 'text' }, parameters: { targetIds: '_text', ids: '_text' } },
  `select t.id from delivery_targets t
   where t.id = any(:targetIds) and t.kind = 'journey' and not ${isPendingFor('t')} and not ${hasEndedFor('t', 'and d.id <> all(:ids)')}
   order by t.id for update`,
)

const deleteDeliveries = statement(
  'delete-old-deliveries',
  { row: { accountId: 'text', key: 'text' }, parameters: { accountIds: '_text', ids: '_text', before: 'timestamptz' } },
  `with old as materialized (
     select d.row from unnest(:accountIds::text[], :ids::text[]) as o(account, id) cross join lateral (
       select ctid as row from ended_deliveries
       where account_id = o.account and id = o.id and finished_at < :before for update skip locked
     ) d
   )
   delete from ended_deliveries where ctid = any(array(select row from old)) returning account_id as "accountId", key`,
)

// An event and its deliveries have the same time in their ids, so this range contains all of them.
const without = (table: string) => `not exists (
  select from ${table} d where d.account_id = e.account_id and d.key = e.id
    and d.id between 'dlv_' || substr(e.id, 5, 10) and 'dlv_' || substr(e.id, 5, 10) || 'zzzzzzzzzzzzzzzz'
)`

const deleteEvents = statement(
  'delete-events-without-deliveries',
  { row: { id: 'text' }, parameters: { accountIds: '_text', keys: '_text' } },
  `delete from events where ctid = any(array(
     select e.row from (select distinct * from unnest(:accountIds::text[], :keys::text[]) as o(account, id)) o cross join lateral (
       select ctid as row from events e
       where account_id = o.account and id = o.id and ${without('pending_deliveries')} and ${without('ended_deliveries')}
       offset 0
     ) e
   )) returning id`,
)

const deleteTargets = statement(
  'delete-targets-without-deliveries',
  { row: { id: 'text' }, parameters: { ids: '_text' } },
  `delete from delivery_targets t
   where t.id = any(:ids) and not ${isPendingFor('t')} and not ${hasEndedFor('t')} returning id`,
)

const purgeBatch = async (
  sql: Sql,
  before: Date,
  size: number,
  only: string | null,
): Promise<{ deliveries: number; events: number }> => {
  const old = await sql(findOld, { before, size, only })
  if (old.length === 0) return { deliveries: 0, events: 0 }
  const ids = old.map(({ id }) => id)
  const targetIds = [...new Set(old.map(({ targetId }) => targetId))]
  const targets = await sql(lockTargets, { targetIds, ids })
  const gone = await sql(deleteDeliveries, { accountIds: old.map(({ accountId }) => accountId), ids, before })
  const events = await sql(deleteEvents, {
    accountIds: gone.map(({ accountId }) => accountId),
    keys: gone.map(({ key }) => key),
  })
  if (targets.length > 0) await sql(deleteTargets, { ids: targets.map(({ id }) => id) })
  return { deliveries: gone.length, events: events.length }
}

/**
 * Deletes deliveries that ended before `before`, and the events and targets of calls that have no delivery left, in batches with
 * pauses until nothing is left or `signal` is aborted. Returns the number of deleted deliveries and events.
 */
export const purgeDeliveries = async (
  { database }: Pick<App, 'database'>,
  before: Date,
  { signal, batchSize = 500, only = null }: Sweep = {},
): Promise<number> => {
  let total = 0
  const batch = async () => {
    const { deliveries, events } = await database.transaction((sql) => purgeBatch(sql, before, batchSize, only))
    total += deliveries + events
    return deliveries
  }
  await inBatches(batchSize, batch, signal)
  return total
}

const lockDeleted = statement(
  'lock-deleted-targets',
  { row: { id: 'text' }, parameters: { before: 'timestamptz', batchSize: 'int8', only: 'text?' } },
  `select t.id from delivery_targets t
   where t.status = 'deleted' and t.deleted_at < :before and (:only::text is null or t.account_id = :only)
     and not ${isPendingFor('t')} and not ${hasEndedFor('t')}
   order by t.deleted_at limit :batchSize for update skip locked`,
)

/**
 * Deletes the targets of subscriptions that were deleted before `before` and have no deliveries. `before` must be so long ago that
 * no transaction still runs that began while the target was active.
 */
export const purgeTargets = (
  { database }: Pick<App, 'database'>,
  before: Date,
  { signal, batchSize = 500, only = null }: Sweep = {},
): Promise<number> => {
  const batch = async (sql: Sql) => {
    const targets = await sql(lockDeleted, { before, batchSize, only })
    return (await sql(deleteTargets, { ids: targets.map(({ id }) => id) })).length
  }
  return inBatches(batchSize, () => database.transaction(batch), signal)
}

const forgetFormer = statement(
  'forget-former-secrets',
  { row: { id: 'text' }, parameters: { before: 'timestamptz', batchSize: 'int8', only: 'text?' } },
  `update delivery_targets set former_sealed_secret = null, former_secret_until = null where ctid = any(array(
     select ctid from delivery_targets where former_secret_until < :before and (:only::text is null or account_id = :only)
     order by former_secret_until limit :batchSize
     for no key update skip locked
   )) returning id`,
)

/** Deletes the former secrets of targets whose overlap ended before `before`. Returns their number. */
export const forgetFormerSecrets = (
  { sql }: Pick<App, 'sql'>,
  before: Date,
  { signal, batchSize = 500, only = null }: Sweep = {},
): Promise<number> =>
  inBatches(batchSize, async () => (await sql(forgetFormer, { before, batchSize, only })).length, signal)

const deletionFrom = (table: string) =>
  statement(
    `delete-from-${table}`,
    { parameters: { accountId: 'text', id: 'text' } },
    `delete from ${table} where account_id = :accountId and id = :id`,
  )

const deletePending = deletionFrom('pending_deliveries')
const deleteEnded = deletionFrom('ended_deliveries')

/** Deletes a probe. If its attempt is being recorded at this moment, the first statement waits and the second one deletes it. */
export const removeProbe = async ({ sql, accountId }: AccountSql, id: string): Promise<void> => {
  await sql(deletePending, { accountId, id })
  await sql(deleteEnded, { accountId, id })
}

/** Deliveries, their attempts and their events are kept this long after they ended. */
const retentionMs = 30 * 86_400_000

const keptSince = (app: App): Date => new Date(app.now().getTime() - retentionMs)

export const jobs = [
  defineJob('deliveries', {
    does: 'Deletes deliveries, their events and their calls 30 days after they ended',
    runFor: (app, sweep) => purgeDeliveries(app, keptSince(app), sweep),
  }),
  defineJob('delivery targets', {
    does: 'Deletes targets of deleted subscriptions after 30 days',
    async runFor(app, sweep) {
      await forgetFormerSecrets(app, app.now(), sweep)
      await purgeTargets(app, keptSince(app), sweep)
    },
  }),
]
