import { addressPattern, erasedAddress } from '../lib/erased.ts'
import { statement } from '../store/statement.ts'
import type { Listener, PersonalDataPart } from '../store/work.ts'

/*
 * Addresses in stored filters. The erasure of an address replaces it by a text that is in no address and that no field has, so a filter
 * goes on to select the same contacts.
 */

const readNaming = statement(
  'segments-naming',
  { row: { id: 'text', name: 'text', where: 'text' }, parameters: { accountId: 'text', pattern: 'text' } },
  'select id, name, filter as "where" from segments where account_id = :accountId and filter ~* :pattern order by id',
)

/** The segments whose filter names an address. */
export const personalData: PersonalDataPart = {
  name: 'segments',
  read: ({ sql, accountId }, email) => sql(readNaming, { accountId, pattern: addressPattern(email) }),
}

const replaceAddress = statement(
  'erase-address-in-segments',
  { parameters: { accountId: 'text', pattern: 'text' } },
  `update segments set filter = regexp_replace(filter, :pattern, ${erasedAddress}, 'gi') where account_id = :accountId and filter ~* :pattern`,
)

/** Removes an erased address from filters. */
export const forgetInSegments: Listener = {
  async contactsRemoved({ sql, accountId }, { listId, email }) {
    if (listId !== undefined || email === undefined) return
    await sql(replaceAddress, { accountId, pattern: addressPattern(email) })
  },
}
