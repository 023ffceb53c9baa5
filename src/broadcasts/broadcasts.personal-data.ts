import { listLists } from '../contacts/contacts.ts'
import { addressPattern, addressRegExp, erasedAddress } from '../lib/erased.ts'
import { listSegments } from '../segments/segments.ts'
import { statement } from '../store/statement.ts'
import { columns, types } from '../store/tables.ts'
import type { Listener, PersonalDataPart } from '../store/work.ts'
import { audienceOf } from './broadcasts.audience.ts'
import { broadcasts } from './broadcasts.columns.ts'

const isNaming = `account_id = :accountId and (filter ~* :pattern or audience::text ~* :pattern or :email in (reply_to, letter ->> 'replyTo'))`

const shownColumns = columns(broadcasts, ['id', 'name', 'listId', 'segmentId', 'filter', 'audience'])

const naming = { accountId: 'text', pattern: 'text', email: 'text' } as const

const readNaming = statement(
  'broadcasts-naming',
  { row: { ...shownColumns.types, replyTo: 'text?' }, parameters: naming },
  `select ${shownColumns.list}, case when :email in (reply_to, letter ->> 'replyTo') then :email::text end as "replyTo"
   from broadcasts where ${isNaming} order by id`,
)

const readFrom = statement(
  'broadcasts-from-address',
  { row: types(broadcasts, 'id', 'name'), parameters: { accountId: 'text', email: 'text' } },
  `select id, name from broadcasts
   where account_id = :accountId and (sender = :email or letter #>> '{from,email}' = :email) order by id`,
)

/** The broadcasts whose filters or Reply-To name an address. A filter has the name of its list, and of its segment if it is that of one. */
const namingBroadcasts: PersonalDataPart = {
  name: 'broadcasts',
  async read(work, email) {
    const rows = await work.sql(readNaming, { accountId: work.accountId, pattern: addressPattern(email), email })
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

/** The broadcasts whose filters or Reply-To name an address, and those that come from it. */
export const personalData: readonly PersonalDataPart[] = [
  namingBroadcasts,
  {
    name: 'broadcastsFrom',
    // A setting of the account, as the address of a sender is.
    staysAtErasure: true,
    read: ({ sql, accountId }, email) => sql(readFrom, { accountId, email }),
  },
]

const eraseAddress = statement(
  'erase-address-in-broadcasts',
  { parameters: naming },
  `update broadcasts set filter = regexp_replace(filter, :pattern, ${erasedAddress}, 'gi'),
     audience = regexp_replace(audience::text, :pattern, ${erasedAddress}, 'gi')::jsonb,
     reply_to = nullif(reply_to, :email),
     letter = case when letter ->> 'replyTo' = :email then jsonb_set(letter, '{replyTo}', 'null') else letter end
   where ${isNaming}`,
)

/** Removes an erased address from filters, and as Reply-To. */
export const forgetInBroadcasts: Listener = {
  async contactsRemoved({ sql, accountId }, { listId, email }) {
    if (listId !== undefined || email === undefined) return
    await sql(eraseAddress, { accountId, pattern: addressPattern(email), email })
  },
}
