import type { Listener } from '../store/work.ts'

/** Payments outlive who paid, as records of business; an erased address stands in none of them any more. */
export const forgetPayer: Listener = {
  async contactsRemoved({ sql, accountId }, { listId, email }) {
    if (listId !== undefined || email === undefined) return
    await sql(`update payment_orders set email = '' where account_id = $1 and email = $2`, [accountId, email])
  },
}
