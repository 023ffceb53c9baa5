import { type IdPrefix, idAt } from '../lib/ids.ts'
import { inBatches, type Sweep } from './background.ts'
import { forceIndexOrder } from './database.ts'
import { statement } from './statement.ts'
import type { App } from './work.ts'

/**
 * Declares the deletion of old rows of a table with the primary key `(account_id, id)`, whose ids contain the time of their creation and
 * begin with `prefix`. `accounts` is an SQL from item with the `id` of each account.
 *
 * The returned function deletes the rows from before `before`, in small batches with pauses, until none is left or `signal` is aborted,
 * and returns their number. Old rows are at the start of each account's range of the key. Each batch starts after the previous one, so
 * that it does not scan deleted rows. Rows are identified by ctid, so they must never be updated.
 */
export const purgeOf = (table: string, prefix: IdPrefix, accounts: string) => {
  const findAccounts = statement(
    `find-accounts-with-old-${table}`,
    { row: { id: 'text' }, parameters: { bound: 'text', only: 'text?' } },
    `select a.id from ${accounts} a cross join lateral (
       select from ${table} e where e.account_id = a.id and e.id < :bound order by e.id limit 1
     ) e where :only::text is null or a.id = :only`,
  )
  const deleteBatch = statement(
    `delete-old-${table}`,
    {
      row: { gone: 'int8', last: 'text?' },
      parameters: { accountId: 'text', after: 'text', bound: 'text', batchSize: 'int8' },
    },
    `with old as materialized (
       select ctid as row, id from ${table} where account_id = :accountId and id > :after and id < :bound
       order by id limit :batchSize
     ), gone as (
       delete from ${table} where ctid = any(array(select row from old)) returning 1
     )
     select (select count(*) from gone) as gone, max(id) as last from old`,
  )
  return async (
    { sql, database }: Pick<App, 'sql' | 'database'>,
    before: Date,
    { signal, batchSize = 1000, only = null }: Sweep = {},
  ): Promise<number> => {
    const bound = idAt(prefix, before.getTime())
    let total = 0
    for (const { id: accountId } of await sql(findAccounts, { bound, only })) {
      let after = ''
      const batch = async () => {
        const [row] = await database.transaction(
          (tx) => tx(deleteBatch, { accountId, after, bound, batchSize }),
          forceIndexOrder,
        )
        after = row!.last ?? after
        return row!.gone
      }
      total += await inBatches(batchSize, batch, signal)
    }
    return total
  }
}
