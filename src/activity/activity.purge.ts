import { allAccounts } from '../accounts/accounts.ts'
import { daysBefore } from '../lib/days.ts'
import { idAt } from '../lib/ids.ts'
import { defineJob, inBatches } from '../store/background.ts'
import { forceIndexOrder } from '../store/database.ts'
import { statement } from '../store/statement.ts'
import type { App } from '../store/work.ts'

/* As the purge of the access log (contacts.purge.ts): old rows are at the start of each account's range of the key. */

const findOld = statement(
  'find-accounts-with-old-activities',
  { row: { id: 'text' }, parameters: { bound: 'text', only: 'text?' } },
  `select a.id from ${allAccounts} a cross join lateral (
     select from activities e where e.account_id = a.id and e.id < :bound order by e.id limit 1
   ) e where :only::text is null or a.id = :only`,
)

const deleteOld = statement<{ gone: number; last: string | null }>(
  'delete-old-activities',
  { gone: 'int8', last: 'text' },
  `with old as materialized (
     select ctid as row, id from activities where account_id = $1 and id > $2 and id < $3 order by id limit $4
   ), gone as (
     delete from activities where ctid = any(array(select row from old)) returning 1
   )
   select (select count(*) from gone) as gone, max(id) as last from old`,
)

/**
 * Deletes events that were reported before `before`, in small batches with pauses, until none is left or `signal` is aborted. Their
 * idempotency keys stay. Returns the number of deleted rows.
 */
export const purgeActivities = async (
  { sql, database }: Pick<App, 'sql' | 'database'>,
  before: Date,
  signal?: AbortSignal,
  batchSize = 1000,
  only: string | null = null,
): Promise<number> => {
  const bound = idAt('act', before.getTime())
  let total = 0
  for (const { id } of await sql(findOld, { bound, only })) {
    let last = ''
    const batch = async () => {
      const [row] = await database.transaction((tx) => tx(deleteOld, [id, last, bound, batchSize]), forceIndexOrder)
      last = row!.last ?? last
      return row!.gone
    }
    total += await inBatches(batchSize, batch, signal)
  }
  return total
}

export const jobs = [
  defineJob('reported events', {
    does: 'Deletes events of POST /events after SVC_MESSAGE_RETENTION_DAYS',
    async runFor(app, signal, only) {
      const { messageRetentionDays } = app.config
      if (messageRetentionDays === 0) return
      await purgeActivities(app, daysBefore(app.now(), messageRetentionDays), signal, undefined, only)
    },
  }),
]
