import { preparedStatement, statement } from '../../store/statement.ts'
import { type Row, types } from '../../store/tables.ts'
import type { AccountSql, Work } from '../../store/work.ts'
import { contacts } from '../contacts.columns.ts'
import {
  type ContactName,
  contactAt,
  located,
  locating,
  locatingBy,
  locatingParameters,
  newestFirst,
} from '../contacts.rows.ts'
import type { Contact } from '../contacts.view.ts'

/** One contact: an address in a list. */
export type ContactPlace = Row<typeof contacts, keyof typeof located>

const locate = (kind: keyof typeof locating) =>
  preparedStatement(`locate-${kind}`, { row: located, parameters: locatingParameters }, locating[kind])
const locates = { row: locate('row'), email: locate('email') }

/**
 * Returns the matching contact; without `listId`, from the most recently updated list that has the address. Returns null if none
 * matches.
 */
export const locateContact = async (
  { sql, accountId }: AccountSql,
  name: ContactName,
): Promise<ContactPlace | null> => {
  const { kind, values } = locatingBy(accountId, name)
  const [place] = await sql(locates[kind], values)
  return place ?? null
}

const lockStatus = preparedStatement(
  'lock-contact',
  { row: types(contacts, 'status'), parameters: types(contacts, 'accountId', 'listId', 'rowId') },
  `select status from ${contactAt(':accountId', ':listId', ':rowId', 'for no key update')} c`,
)

/** Locks a contact against changes until the unit of work ends, and returns its status, or null if it does not exist. */
export const lockContact = async (
  { sql, accountId }: Work,
  { listId, rowId }: Pick<ContactPlace, 'listId' | 'rowId'>,
): Promise<Contact['status'] | null> => {
  const [contact] = await sql(lockStatus, { accountId, listId, rowId })
  return contact?.status ?? null
}

const lockEntrants = preparedStatement(
  'lock-entrants',
  { row: { count: 'int8' }, parameters: { accountId: 'text', emails: '_text', listIds: '_text' } },
  `select count(*) from (
    select i.email, i.list from unnest(:emails::text[], :listIds::text[]) as i(email, list) order by i.email collate "C", i.list
  ) o
  cross join lateral (select row_id from addresses where account_id = :accountId and email = o.email limit 1) a
  cross join lateral (
    select 1 from contacts where account_id = :accountId and row_id = a.row_id and list_id = o.list for no key update
  ) locked`,
)

/** Locks contacts against changes, in the order of their addresses. */
export const lockContacts = async (
  { sql, accountId }: AccountSql,
  contacts: readonly { email: string; listId: string }[],
): Promise<void> => {
  const emails = contacts.map(({ email }) => email)
  await sql(lockEntrants, { accountId, emails, listIds: contacts.map(({ listId }) => listId) })
}

const readRowIds = preparedStatement(
  'row-ids',
  { row: { email: 'text', rowId: 'text' }, parameters: { accountId: 'text', emails: '_text' } },
  'select email, row_id as "rowId" from addresses where account_id = :accountId and email = any(:emails)',
)

/** Returns the row id of each of the normalised addresses that the account has. */
export const rowIdsOf = async (
  { sql, accountId }: AccountSql,
  emails: readonly string[],
): Promise<Map<string, string>> => {
  if (emails.length === 0) return new Map()
  const rows = await sql(readRowIds, { accountId, emails })
  return new Map(rows.map(({ email, rowId }) => [email, rowId]))
}

const findNewestLists = statement(
  'newest-lists',
  { row: { email: 'text', listId: 'text' }, parameters: { accountId: 'text', emails: '_text' } },
  `select i.email, c.list_id as "listId" from unnest(:emails::text[]) as i(email) cross join lateral (
     select c.list_id from contacts c join contact_lists l on l.account_id = c.account_id and l.id = c.list_id
     where c.account_id = :accountId and c.row_id = (select row_id from addresses where account_id = :accountId and email = i.email)
     ${newestFirst} limit 1
   ) c`,
)

/** Returns, for each of the normalised addresses that is in a list, the most recently updated one (`newestFirst`). */
export const newestListsOf = async (
  { sql, accountId }: AccountSql,
  emails: readonly string[],
): Promise<Map<string, string>> => {
  if (emails.length === 0) return new Map()
  const rows = await sql(findNewestLists, { accountId, emails })
  return new Map(rows.map(({ email, listId }) => [email, listId]))
}
