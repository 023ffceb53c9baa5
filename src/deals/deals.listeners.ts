import { statement } from '../store/statement.ts'
import type { Listener } from '../store/work.ts'
import { shareBoard } from './deals.board.ts'

const lockDealsOf = statement(
  'lock-deals-of-email',
  {},
  'select from deals where account_id = $1 and email = $2 order by id for no key update',
)

const clearEmail = statement(
  'clear-deals-email',
  {},
  `update deals set email = '' where account_id = $1 and email = $2`,
)

/** Removes an erased address from its deals. The deals remain, as business records. */
export const forgetErased: Listener = {
  async contactsRemoved(work, { listId, email }) {
    if (listId !== undefined || email === undefined) return
    const { sql, accountId } = work
    await shareBoard(work)
    await sql(lockDealsOf, [accountId, email])
    await sql(clearEmail, [accountId, email])
  },
}
