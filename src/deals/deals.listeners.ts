import type { Listener } from '../store/work.ts'

/** Deals outlive their contact, as records of business; an erased address stands in none of them any more. */
export const forgetErased: Listener = {
  wants: async () => false,
  receive: async () => {},
  async contactsRemoved({ sql, accountId }, { listId, email }) {
    if (listId !== undefined || email === undefined) return
    await sql(`update deals set email = '' where account_id = $1 and email = $2`, [accountId, email])
  },
}
