import { leavingEffects, newestListsOf } from '../contacts/contacts.ts'
import { addressPattern, erasedAddress } from '../lib/erased.ts'
import { statement } from '../store/statement.ts'
import { columns, types } from '../store/tables.ts'
import type { Listener, Work } from '../store/work.ts'
import { onSharedBoard, shareBoard } from './deals.board.ts'
import { deals } from './deals.columns.ts'

const erased = { accountId: 'text', email: 'text', pattern: 'text' } as const

const lockDealsOf = statement(
  'lock-deals-of-email',
  { parameters: erased },
  'select from deals where account_id = :accountId and (email = :email or title ~* :pattern) order by id for no key update',
)

const clearEmail = statement(
  'clear-deals-email',
  { parameters: erased },
  `update deals set email = case when email = :email then '' else email end,
     title = regexp_replace(title, :pattern, ${erasedAddress}, 'gi')
   where account_id = :accountId and (email = :email or title ~* :pattern)`,
)

const lockDealsIn = statement(
  'lock-deals-in-list',
  { parameters: types(deals, 'accountId', 'email', 'listId') },
  `select from deals where account_id = :accountId and email = :email and list_id = :listId and ${onSharedBoard}
   order by id for no key update`,
)

const moved = columns(deals, ['id', 'title', 'listId'])

const moveToList = statement(
  'move-deals-to-list',
  {
    row: moved.types,
    parameters: { ...types(deals, 'accountId', 'rowId', 'listId'), to: 'text', now: 'timestamptz' },
  },
  `update deals set list_id = :to, updated_at = :now where account_id = :accountId and row_id = :rowId and list_id = :listId
   returning ${moved.list}`,
)

/** Names the list where the address was changed last, of those that still have it, in the deals of a contact that left its list. */
const relist = async (work: Work, { listId, email, rowId }: { listId: string; email: string; rowId: string }) => {
  const to = (await newestListsOf(work, [email])).get(email)
  if (to === undefined) return
  const { sql, accountId, now } = work
  work.state(leavingEffects).deals.push(...(await sql(moveToList, { accountId, rowId, listId, to, now })))
}

/**
 * Removes an erased address from its deals. The deals remain, as business records. If a contact only leaves a list, its deals name
 * another list of the address.
 */
export const forgetErased: Listener = {
  // A move of a deal can start a journey, which locks the contact: deals are locked before contacts.
  async contactLeaving({ sql, accountId }, { listId, email }) {
    await sql(lockDealsIn, { accountId, email, listId })
  },

  async contactsRemoved(work, { listId, email, rowId }) {
    if (email === undefined) return
    if (listId !== undefined) {
      if (rowId !== undefined) await relist(work, { listId, email, rowId })
      return
    }
    const { sql, accountId } = work
    await shareBoard(work)
    const values = { accountId, email, pattern: addressPattern(email) }
    await sql(lockDealsOf, values)
    await sql(clearEmail, values)
  },
}
