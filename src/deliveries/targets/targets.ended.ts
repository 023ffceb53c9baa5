import { Problem } from '../../lib/problem.ts'
import { typed } from '../../store/column-types.ts'
import type { Sql } from '../../store/database.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import type { App } from '../../store/work.ts'
import { cancelledRows, notifyEnded } from '../deliveries.cancel.ts'

const leftoverBatch = 1000

const cancelBatch = preparedStatement(
  'cancel-leftovers',
  { row: { count: 'int8', last: 'text?' }, parameters: { id: 'text', since: typed<string>('timestamptz') } },
  `with ${cancelledRows(`
    select ctid as row
    from pending_deliveries
    where target_id = :id
      and due_at >= :since::timestamptz
      and not exists (select from delivery_targets where id = :id and status = 'active')
    order by due_at
    limit ${leftoverBatch}
    for update skip locked`)}
  select count(*) as count, max(due_at)::text as last from gone`,
)

/**
 * Cancels the pending deliveries of a target that is not active, in batches, oldest first. Skips rows that another transaction has
 * locked: a later call cancels them.
 */
export const cancelLeftovers = async (sql: Sql, id: string, signal: AbortSignal): Promise<void> => {
  // Skips index entries of rows that earlier batches moved: they stay as long as a dump holds an old snapshot.
  let since = '-infinity'
  for (let count = leftoverBatch; count === leftoverBatch && !signal.aborted; ) {
    const [row] = await sql(cancelBatch, { id, since })
    count = row!.count
    since = row!.last ?? since
  }
}

const findWaiting = preparedStatement(
  'find-leftovers',
  { row: { id: 'text', accountId: 'text', exists: 'bool' } },
  `with recursive waiting as (
     (select target_id as id, account_id from pending_deliveries order by target_id, due_at limit 1)
     union all
     select n.target_id, n.account_id
     from waiting w
     cross join lateral (
       select p.target_id, p.account_id
       from pending_deliveries p
       where p.target_id > w.id
       order by p.target_id, p.due_at
       limit 1
     ) n
   )
   select w.id, w.account_id as "accountId", t.status is not null as exists
   from waiting w
   left join lateral (select status from delivery_targets where id = w.id limit 1) t on true
   where t.status is distinct from 'active'`,
)

/**
 * Returns the targets with pending deliveries that are not active (`ended`), or do not exist (`missing`). Reads one index entry for
 * each target with pending deliveries.
 */
export const findLeftovers = async (
  sql: Sql,
): Promise<{ ended: string[]; missing: { accountId: string; id: string }[] }> => {
  const rows = await sql(findWaiting)
  return { ended: rows.flatMap(({ id, exists }) => (exists ? id : [])), missing: rows.filter(({ exists }) => !exists) }
}

const cancelMissing = statement(
  'cancel-deliveries-without-target',
  { row: { id: 'text', attempts: 'int4' }, parameters: { accountId: 'text', id: 'text' } },
  `with ${cancelledRows(`select ctid as row from pending_deliveries where account_id = :accountId and target_id = :id
     and not exists (select from delivery_targets where id = :id) limit ${leftoverBatch} for update skip locked`)}
   select id, jsonb_array_length(attempts) as attempts from gone`,
)

/** Cancels pending deliveries of a target that does not exist, notifies the runs that wait for them, and returns the number. */
export const cancelWithoutTarget = async (
  app: Pick<App, 'work'>,
  { accountId, id }: { accountId: string; id: string },
): Promise<number> => {
  try {
    return await app.work(accountId, 'job:deliveries', async (work) => {
      const rows = await work.sql(cancelMissing, { accountId, id })
      const ended = { status: 'cancelled', lastStatus: null, lastError: 'The target no longer exists' } as const
      await notifyEnded(
        work,
        rows.map((row) => ({ ...row, ...ended })),
      )
      return rows.length
    })
  } catch (error) {
    // The account is being deleted, and its deliveries with it.
    if (!(error instanceof Problem)) throw error
    return 0
  }
}
