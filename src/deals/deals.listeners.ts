import { type LeavingEffects, leavingEffects, newestListsOf } from '../contacts/contacts.ts'
import { addressPattern, erasedAddress } from '../lib/erased.ts'
import { statement } from '../store/statement.ts'
import type { Listener, Work } from '../store/work.ts'
import { onSharedBoard, shareBoard } from './deals.board.ts'

const lockDealsOf = statement(
  'lock-deals-of-email',
  {},
  'select from deals where account_id = $1 and (email = $2 or title ~* $3) order by id for no key update',
)

const clearEmail = statement(
  'clear-deals-email',
  {},
  `update deals set email = case when email = $2 then '' else email end,
     title = regexp_replace(title, $3, ${erasedAddress}, 'gi')
   where account_id = $1 and (email = $2 or title ~* $3)`,
)

const lockDealsIn = statement(
  'lock-deals-in-list',
  {},
  `select from deals where account_id = $1 and email = $2 and list_id = $3 and ${onSharedBoard} order by id for no key update`,
)

const moveToList = statement<LeavingEffects['deals'][number]>(
  'move-deals-to-list',
  { id: 'text', title: 'text', listId: 'text' },
  `update deals set list_id = $4, updated_at = $5 where account_id = $1 and row_id = $2 and list_id = $3
   returning id, title, list_id as "listId"`,
)

/** Names the list where the address was changed last, of those that still have it, in the deals of a contact that left its list. */
const relist = async (work: Work, { listId, email, rowId }: { listId: string; email: string; rowId: string }) => {
  const list = (await newestListsOf(work, [email])).get(email)
  if (list === undefined) return
  const moved = await work.sql(moveToList, [work.accountId, rowId, listId, list, work.now])
  work.state(leavingEffects).deals.push(...moved)
}

/**
 * Removes an erased address from its deals. The deals remain, as business records. If a contact only leaves a list, its deals name
 * another list of the address.
 */
export const forgetErased: Listener = {
  // A move of a deal can start a journey, which locks the contact: deals are locked before contacts.
  async contactLeaving({ sql, accountId }, { listId, email }) {
    await sql(lockDealsIn, [accountId, email, listId])
  },

  async contactsRemoved(work, { listId, email, rowId }) {
    if (email === undefined) return
    if (listId !== undefined) {
      if (rowId !== undefined) await relist(work, { listId, email, rowId })
      return
    }
    const { sql, accountId } = work
    await shareBoard(work)
    const erased = [accountId, email, addressPattern(email)]
    await sql(lockDealsOf, erased)
    await sql(clearEmail, erased)
  },
}
