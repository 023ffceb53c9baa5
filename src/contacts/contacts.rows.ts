import { preparedStatement, statement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'

/*
 * What statements of other features need of the rows of contacts: SQL conditions over the SQL names of values, and lookups for sets
 * of addresses. `offset 0` makes PostgreSQL look up each row by its key, whatever its statistics say.
 */

/** SQL condition on a row `c` of contacts. `bind` adds a parameter to the statement and returns its SQL. */
export type ContactCondition = (bind: (value: unknown) => string) => string

/** SQL from item: the addresses that were verified, with `email` and `status`. */
export const verdicts = (account: string): string =>
  `(select email, verification_status as status from addresses
    where account_id = ${account} and verification_status is not null)`

/** SQL from item, as `c` or `as`: the contacts of a list, in no order. */
export const contactsOfList = (account: string, list: string, as = 'c'): string =>
  `(select * from contacts where account_id = ${account} and list_id = ${list}) ${as}`

/** SQL from item, as `c`: the contacts with these lists and row ids (arrays), with their `place` in them, from 1. */
export const contactsAt = (account: string, lists: string, rowIds: string): string =>
  `unnest(${lists}::text[], ${rowIds}::text[]) with ordinality as i(list, row, place)
   cross join lateral (
     select *, i.place from contacts where account_id = ${account} and list_id = i.list and row_id = i.row offset 0
   ) c`

/** SQL from item: the contacts of all lists, in no order, with `email`, `row_id` and `list_id`. */
export const contactsOfLists = (account: string): string =>
  `(select email, row_id, list_id from contacts where account_id = ${account})`

/** SQL condition: whether the address with the row id is in the list. */
export const isContact = (of: { account: string; rowId: string; listId: string }): string =>
  `exists (select from contacts where account_id = ${of.account} and row_id = ${of.rowId} and list_id = ${of.listId} offset 0)`

/** SQL condition: whether the account has the address with this row id. An address that returns after its erasure has another one. */
export const isAddress = (of: { account: string; email: string; rowId: string }): string =>
  `exists (select from addresses where account_id = ${of.account} and email = ${of.email} and row_id = ${of.rowId} offset 0)`

/** SQL condition: whether the list exists. A list that is being deleted does not. */
export const isList = (id: string): string => `exists (select from contact_lists where id = ${id} offset 0)`

/** SQL query: the ids of the account's lists, with those that are being deleted. */
export const listIdsOf = (account: string): string =>
  `select id from contact_lists where account_id = ${account} union all select id from deleted_lists where account_id = ${account}`

/** SQL from item: the contact with this row id in the list, with `email` and `status`. `locking`: a clause that locks it. */
export const contactAt = (account: string, list: string, row: string, lockEntrants = ''): string =>
  `(select email, status from contacts where account_id = ${account} and list_id = ${list} and row_id = ${row} ${lockEntrants})`

/** SQL from item: the contacts of an address in all lists, with `list_id`, `row_id` and `fields`. Looks them up by key. */
export const contactsOf = (account: string, email: string): string =>
  `(select c.list_id, c.row_id, c.fields from addresses a
    cross join lateral (select list_id, row_id, fields from contacts where account_id = a.account_id and row_id = a.row_id offset 0) c
    where a.account_id = ${account} and a.email = ${email})`

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
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
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
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
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
     order by c.updated_at desc, l.id limit 1
   ) c`,
)

/** Returns, for each of the normalised addresses that is in a list, the list where it was changed last. */
export const newestListsOf = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  emails: readonly string[],
): Promise<Map<string, string>> => {
  if (emails.length === 0) return new Map()
  const rows = await sql(findNewestLists, { accountId, emails })
  return new Map(rows.map(({ email, listId }) => [email, listId]))
}
