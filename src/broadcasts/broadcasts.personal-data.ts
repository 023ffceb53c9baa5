import { addressPattern, erasedAddress } from '../lib/erased.ts'
import { statement } from '../store/statement.ts'
import type { Listener, PersonalDataPart } from '../store/work.ts'

const isNaming = `account_id = $1 and (filter ~* $2 or audience::text ~* $2 or $3 in (reply_to, letter ->> 'replyTo'))`

const readNaming = statement<{ id: string; name: string; where: string | null; replyTo: string | null }>(
  'broadcasts-naming',
  { id: 'text', name: 'text', where: 'text', replyTo: 'text' },
  `select id, name, case when coalesce(filter, audience::text) ~* $2 then coalesce(filter, audience::text) end as "where",
     case when $3 in (reply_to, letter ->> 'replyTo') then $3::text end as "replyTo"
   from broadcasts where ${isNaming} order by id`,
)

/** The broadcasts whose filter or Reply-To names an address. */
export const personalData: PersonalDataPart = {
  name: 'broadcasts',
  read: ({ sql, accountId }, email) => sql(readNaming, [accountId, addressPattern(email), email]),
}

const eraseAddress = statement(
  'erase-address-in-broadcasts',
  {},
  `update broadcasts set filter = regexp_replace(filter, $2, ${erasedAddress}, 'gi'),
     audience = regexp_replace(audience::text, $2, ${erasedAddress}, 'gi')::jsonb,
     reply_to = nullif(reply_to, $3),
     letter = case when letter ->> 'replyTo' = $3 then jsonb_set(letter, '{replyTo}', 'null') else letter end
   where ${isNaming}`,
)

/** Removes an erased address from filters, and as Reply-To. */
export const forgetInBroadcasts: Listener = {
  async contactsRemoved({ sql, accountId }, { listId, email }) {
    if (listId !== undefined || email === undefined) return
    await sql(eraseAddress, [accountId, addressPattern(email), email])
  },
}
