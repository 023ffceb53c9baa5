import { notFound } from '../lib/problem.ts'
import type { Sql } from '../store/database.ts'
import { statement } from '../store/statement.ts'
import type { AccountSql, Work } from '../store/work.ts'

/**
 * The SQL from item of the accounts that are neither being deleted nor exported, with `id` and `name`. The planner merges it into
 * the statement.
 */
export const activeAccounts = '(select id, name from accounts where deleted_at is null and move is null)'

/** Like `activeAccounts`, with those that are exported: pages find their account, and `requireHere` answers 503 or 410. */
export const presentAccounts = '(select id, name from accounts where deleted_at is null)'

export const allAccounts = '(select id from accounts)'

/** SQL query, in parentheses: the ids of the accounts that are being deleted, or are exported. Nothing of them runs. */
export const closedAccountIds = '(select id from accounts where deleted_at is not null or move is not null)'

/** Returns the SQL expression of the postal address of an account. It is null if the account has none. */
export const postalAddressOf = (accountId: string): string =>
  `(select postal_address from brands where account_id = ${accountId})`

const findAnyAccount = statement('find-any-account', {}, 'select from accounts limit 1')

/** Returns whether the installation has an account, also one that is being deleted. */
export const hasAccounts = async ({ sql }: Pick<Work, 'sql'>): Promise<boolean> =>
  (await sql(findAnyAccount)).length > 0

const findAccount = statement(
  'find-account-by-id',
  { parameters: { id: 'text' } },
  'select from accounts where id = :id',
)

/** Returns whether the account exists, also while it is being deleted. */
export const hasAccount = async ({ sql }: Pick<Work, 'sql'>, id: string): Promise<boolean> =>
  (await sql(findAccount, { id })).length > 0

const lockRow = statement(
  'lock-account',
  { parameters: { accountId: 'text' } },
  'select from accounts where id = :accountId for no key update',
)

/**
 * Locks the account's row until the end of the transaction: the second of two concurrent calls waits, and then sees what the
 * first one wrote. Throws Problem `not_found`.
 */
export const lockAccount = async ({ sql, accountId }: AccountSql): Promise<void> => {
  const locked = await sql(lockRow, { accountId })
  if (locked.length === 0) throw notFound('There is no such account')
}

/**
 * Returns a function that counts the rows of all accounts in `table` from the id `since` on, by status; 0 for statuses without rows.
 * Ids contain the time, so the primary key finds an account's newest rows, however long its history is.
 */
export const countingByStatus = <Status extends string>(table: string, statuses: readonly Status[]) => {
  const countRows = statement(
    `count-${table}-by-status`,
    { row: { status: 'text', count: 'int8' }, parameters: { since: 'text' } },
    `select d.status, sum(d.count)::int8 as count from accounts a cross join lateral (
       select status, count(*) as count from ${table} where account_id = a.id and id >= :since group by status
     ) d group by d.status`,
  )
  return async (sql: Sql, since: string): Promise<Record<Status, number>> => {
    const counts = new Map((await sql(countRows, { since })).map(({ status, count }) => [status, count]))
    return Object.fromEntries(statuses.map((status) => [status, counts.get(status) ?? 0])) as Record<Status, number>
  }
}

const lockApiKey = statement(
  'lock-active-key',
  { parameters: { accountId: 'text', id: 'text' } },
  'select from api_keys where account_id = :accountId and id = :id and revoked_at is null for share',
)

/**
 * Locks a key against revocation until the end of the transaction, and returns whether it is active: a concurrent revocation waits
 * and then sees what this transaction wrote.
 */
export const lockActiveKey = async ({ sql, accountId }: AccountSql, id: string): Promise<boolean> =>
  (await sql(lockApiKey, { accountId, id })).length > 0
