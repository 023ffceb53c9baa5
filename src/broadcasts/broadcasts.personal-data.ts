import { addressPattern, erasedAddress } from '../lib/erased.ts'
import { statement } from '../store/statement.ts'
import type { Listener, PersonalDataPart } from '../store/work.ts'

const readNaming = statement<{ id: string; name: string; where: string }>(
  'broadcasts-naming',
  { id: 'text', name: 'text', where: 'text' },
  'select id, name, coalesce(filter, audience::text) as "where" from broadcasts where account_id = $1 and (filter ~* $2 or audience::text ~* $2) order by id',
)

/** The broadcasts whose filter names an address. */
export const personalData: PersonalDataPart = {
  name: 'broadcasts',
  read: ({ sql, accountId }, email) => sql(readNaming, [accountId, addressPattern(email)]),
}

const replaceAddress = statement(
  'erase-address-in-broadcasts',
  {},
  `update broadcasts set filter = regexp_replace(filter, $2, ${erasedAddress}, 'gi'),
     audience = regexp_replace(audience::text, $2, ${erasedAddress}, 'gi')::jsonb
   where account_id = $1 and (filter ~* $2 or audience::text ~* $2)`,
)

/** Removes an erased address from filters. */
export const forgetInBroadcasts: Listener = {
  async contactsRemoved({ sql, accountId }, { listId, email }) {
    if (listId !== undefined || email === undefined) return
    await sql(replaceAddress, [accountId, addressPattern(email)])
  },
}
