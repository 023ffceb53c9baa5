import pg from 'pg'
import type { Sql } from './database.ts'
import { lockKey } from './locks.ts'

/*
 * Nothing of an account outlives it. `account_lives(id)` (in the migrations) takes the account's lock, shared, until the end
 * of the transaction, and then looks whether the account is alive. Every unit of work opens with it, and so does a statement
 * outside of one that adds a row of an account. Who ends the account marks it first, and then waits until the lock is free
 * for a moment: what began before has ended by then, and nothing begins any more.
 */

/** The first statement of a unit of work: `{ lives }`. */
export const openingOf = (accountId: string): string => `select account_lives(${pg.escapeLiteral(accountId)}) as lives`

/** Whether nothing that began before is under way in the account. Never waits, so that nobody has to wait behind it. */
export const isIdle = async (sql: Sql, accountId: string): Promise<boolean> => {
  const [row] = await sql<{ idle: boolean }>(`select pg_try_advisory_xact_lock(${lockKey('account', '$1')}) as idle`, [
    accountId,
  ])
  return row!.idle
}
