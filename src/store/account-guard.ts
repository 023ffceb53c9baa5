import pg from 'pg'
import { lockKey } from '../lib/locks.ts'
import type { Sql } from './database.ts'
import { statement } from './statement.ts'

/*
 * The account guard: no row of an account outlives the account. `account_works(id)` (in the migrations) takes the account's lock,
 * shared, until the end of the transaction, and then checks that the account exists, and is neither being deleted nor exported. Every unit of work
 * begins with it, and so does a statement outside a unit of work that adds a row of an account. A deletion, which is many small
 * transactions, first marks the account and then waits until the lock is free: every earlier transaction has ended by then, and no new
 * one can begin. Figure (2026-11-21): 20 µs of the server for each unit of work.
 */

/** Returns the first statement of a unit of work; its row is `{ lives }`. */
export const guardStatement = (accountId: string): string =>
  `select account_works(${pg.escapeLiteral(accountId)}) as lives`

const tryAccountLock = statement(
  'try-account-lock',
  { row: { idle: 'bool' }, parameters: { accountId: 'text' } },
  `select pg_try_advisory_xact_lock(${lockKey('account', ':accountId')}) as idle`,
)

/** Whether no transaction of the account is running. Never waits, so that no other transaction has to queue behind it. */
export const isAccountIdle = async (sql: Sql, accountId: string): Promise<boolean> => {
  const [row] = await sql(tryAccountLock, { accountId })
  return row!.idle
}
