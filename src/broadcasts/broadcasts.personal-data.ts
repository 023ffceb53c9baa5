import { listLists } from '../contacts/contacts.ts'
import { addressPattern, addressRegExp, erasedAddress } from '../lib/erased.ts'
import { listSegments } from '../segments/segments.ts'
import { statement } from '../store/statement.ts'
import type { Listener, PersonalDataPart } from '../store/work.ts'
import { type Audience, audienceOf } from './broadcasts.audience.ts'

const isNaming = `account_id = $1 and (filter ~* $2 or audience::text ~* $2 or $3 in (reply_to, letter ->> 'replyTo'))`

const readNaming = statement<{
  id: string
  name: string
  listId: string
  segmentId: string | null
  filter: string | null
  audience: Audience | null
  replyTo: string | null
}>(
  'broadcasts-naming',
  { id: 'text', name: 'text', listId: 'text', segmentId: 'text', filter: 'text', audience: 'jsonb', replyTo: 'text' },
  `select id, name, list_id as "listId", segment_id as "segmentId", filter, audience,
     case when $3 in (reply_to, letter ->> 'replyTo') then $3::text end as "replyTo"
   from broadcasts where ${isNaming} order by id`,
)

/** The broadcasts whose filters or Reply-To name an address. A filter has the name of its list, and of its segment if it is that of one. */
export const personalData: PersonalDataPart = {
  name: 'broadcasts',
  async read(work, email) {
    const rows = await work.sql(readNaming, [work.accountId, addressPattern(email), email])
    if (rows.length === 0) return []
    const named = [...(await listLists(work)), ...(await listSegments(work))]
    const names = new Map(named.map(({ id, name }) => [id, name]))
    const nameOf = (id: string) => names.get(id) ?? id
    return rows.map(({ id, name, replyTo, ...columns }) => {
      const { parts, without } = audienceOf(columns)
      const filters = [...parts, ...without].flatMap(({ listId, segmentId, where }) =>
        where !== null && addressRegExp(email).test(where)
          ? [{ list: nameOf(listId), ...(segmentId !== null && { segment: nameOf(segmentId) }), where }]
          : [],
      )
      return { id, name, ...(filters.length > 0 && { filters }), ...(replyTo !== null && { replyTo }) }
    })
  },
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
