import { notFound } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'

/** SQL from item: the accounts that are not being deleted, with `id` and `name`. The planner merges it into the statement. */
export const activeAccounts = '(select id, name from accounts where deleted_at is null)'

/** Returns whether the account exists, also while it is being deleted. */
export const hasAccount = async ({ sql }: Pick<Work, 'sql'>, id: string): Promise<boolean> =>
  (await sql('select from accounts where id = $1', [id])).length > 0

/**
 * Locks the account's row until the end of the transaction: the second of two concurrent calls waits, and then sees what the
 * first one wrote. Throws Problem `not_found`.
 */
export const lockAccount = async ({ sql, accountId }: Pick<Work, 'sql' | 'accountId'>): Promise<void> => {
  const locked = await sql('select from accounts where id = $1 for no key update', [accountId])
  if (locked.length === 0) throw notFound('There is no such account')
}
