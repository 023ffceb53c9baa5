import type { Listener } from '../store/work.ts'
import { shareBoard } from './deals.board.ts'

/** Removes an erased address from its deals. The deals remain, as business records. */
export const forgetErased: Listener = {
  async contactsRemoved(work, { listId, email }) {
    if (listId !== undefined || email === undefined) return
    const { sql, accountId } = work
    await shareBoard(work)
    await sql('select from deals where account_id = $1 and email = $2 order by id for no key update', [
      accountId,
      email,
    ])
    await sql(`update deals set email = '' where account_id = $1 and email = $2`, [accountId, email])
  },
}
