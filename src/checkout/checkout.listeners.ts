import type { Listener } from '../store/work.ts'

/** Payments are business records and stay when their payer is erased; the address is removed from them. */
export const forgetPayer: Listener = {
  async contactsRemoved({ sql, accountId }, { listId, email }) {
    if (listId !== undefined || email === undefined) return
    await sql(`update payment_orders set email = '' where account_id = $1 and email = $2`, [accountId, email])
  },
}
