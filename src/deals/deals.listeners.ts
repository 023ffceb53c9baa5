import { leavingEffects, newestListsOf } from '../contacts/contacts.ts'
import { addressPattern, erasedAddress } from '../lib/erased.ts'
import { statement } from '../store/statement.ts'
import { columns, types } from '../store/tables.ts'
import type { Listener } from '../store/work.ts'
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
  { parameters: { ...types(deals, 'accountId', 'listId'), emails: '_text' } },
  `select from deals where account_id = :accountId and email = any(:emails) and list_id = :listId and ${onSharedBoard}
   order by id for no key update`,
)

const findDealsIn = statement(
  'find-deals-in-list',
  { row: { rowId: 'text' }, parameters: { ...types(deals, 'accountId', 'listId'), rowIds: '_text' } },
  `select distinct row_id as "rowId" from deals where account_id = :accountId and row_id = any(:rowIds) and list_id = :listId`,
)

const moved = columns(deals, ['id', 'title', 'listId'])

const moveToLists = statement(
  'move-deals-to-lists',
  {
    row: moved.types,
    parameters: { ...types(deals, 'accountId', 'listId'), rowIds: '_text', to: '_text', now: 'timestamptz' },
  },
  `update deals set list_id = n."to", updated_at = :now from unnest(:rowIds::text[], :to::text[]) as n("rowId", "to")
   where account_id = :accountId and row_id = n."rowId" and list_id = :listId
   returning ${moved.list}`,
)

/**
 * Removes an erased address from its deals. The deals remain, as business records. If a contact only leaves a list, or its list is
 * deleted, its deals name the most recently updated list that still has the address.
 */
export const forgetErased: Listener = {
  // A move of a deal can start a journey, which locks the contact: deals are locked before contacts.
  async contactsLeaving({ sql, accountId }, { listId, emails }) {
    await sql(lockDealsIn, { accountId, emails, listId })
  },

  async contactsLeft(work, { listId, contacts }) {
    const { sql, accountId, now } = work
    const found = await sql(findDealsIn, { accountId, listId, rowIds: contacts.map(({ rowId }) => rowId) })
    if (found.length === 0) return
    const withDeals = new Set(found.map(({ rowId }) => rowId))
    const leaving = contacts.filter(({ rowId }) => withDeals.has(rowId))
    const newest = await newestListsOf(
      work,
      leaving.map(({ email }) => email),
    )
    const staying = leaving.filter(({ email }) => newest.has(email))
    const rowIds = staying.map(({ rowId }) => rowId)
    const to = staying.map(({ email }) => newest.get(email)!)
    work.state(leavingEffects).deals.push(...(await sql(moveToLists, { accountId, listId, rowIds, to, now })))
  },

  async contactsRemoved(work, { listId, email }) {
    if (email === undefined || listId !== undefined) return
    const { sql, accountId } = work
    await shareBoard(work)
    const values = { accountId, email, pattern: addressPattern(email) }
    await sql(lockDealsOf, values)
    await sql(clearEmail, values)
  },
}
