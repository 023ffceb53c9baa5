import type { ValuesOf } from '../store/column-types.ts'
import { columns } from '../store/tables.ts'
import { contacts } from './contacts.columns.ts'

/*
 * What statements of other features need of the rows of contacts. Parameters are SQL: `:accountId`, or a column. `offset 0` makes
 * PostgreSQL look up each row by its key, whatever its statistics say.
 */

/** SQL condition on a row `c` of contacts. `bind` adds a parameter to the statement and returns its SQL. */
export type ContactCondition = (bind: (value: unknown) => string) => string

/** Returns the SQL from item of the addresses that were verified, with `email` and `status`. */
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

/** Returns the SQL from item of the contacts of all lists, in no order, with `email`, `row_id` and `list_id`. */
export const contactsOfLists = (account: string): string =>
  `(select email, row_id, list_id from contacts where account_id = ${account})`

/** Returns the SQL condition that the address with the row id is in the list. */
export const isContact = (of: { account: string; rowId: string; listId: string }): string =>
  `exists (select from contacts where account_id = ${of.account} and row_id = ${of.rowId} and list_id = ${of.listId} offset 0)`

/**
 * Returns the SQL condition that the account has the address with this row id. An address that returns after its erasure has
 * another one.
 */
export const isAddress = (of: { account: string; email: string; rowId: string }): string =>
  `exists (select from addresses where account_id = ${of.account} and email = ${of.email} and row_id = ${of.rowId} offset 0)`

/** Returns the SQL condition that the list exists. A list that is being deleted does not. */
export const isList = (id: string): string => `exists (select from contact_lists where id = ${id} offset 0)`

/** Returns the SQL query of the ids of the account's lists, with those that are being deleted. */
export const listIdsOf = (account: string): string =>
  `select id from contact_lists where account_id = ${account} union all select id from deleted_lists where account_id = ${account}`

/**
 * Returns the SQL from item of the contact with this row id in the list, with `email` and `status`. `locking` is a clause that
 * locks it.
 */
export const contactAt = (account: string, list: string, row: string, lockEntrants = ''): string =>
  `(select email, status from contacts where account_id = ${account} and list_id = ${list} and row_id = ${row} ${lockEntrants})`

/**
 * Returns the SQL from item of the contacts of an address in all lists, with `list_id`, `row_id` and `fields`. It looks them up
 * by key.
 */
export const contactsOf = (account: string, email: string): string =>
  `(select c.list_id, c.row_id, c.fields from addresses a
    cross join lateral (select list_id, row_id, fields from contacts where account_id = a.account_id and row_id = a.row_id offset 0) c
    where a.account_id = ${account} and a.email = ${email})`

/** Returns the SQL expression of the row id of an address. It is null if the account does not have the address. */
export const rowIdOf = (account: string, email: string): string =>
  `(select a.row_id from addresses a where a.account_id = ${account} and a.email = ${email})`

/** Returns an SQL expression: it is `'invalid'` if verification rejected the address, else null. */
export const invalidReason = (account: string, email: string): string => `(
  select 'invalid' from addresses a
  where a.account_id = ${account} and a.email = ${email} and a.verification_status = 'invalid' limit 1
)`

/** Returns an SQL expression: it is `'pending'` if the address is in lists, but active in none of them, else null. */
export const pendingReason = (account: string, email: string): string => `(
  select 'pending' from contacts c where c.account_id = ${account} and c.row_id = ${rowIdOf(account, email)}
  having count(*) > 0 and count(*) filter (where c.status = 'active') = 0
)`

/** Returns the SQL query of the addresses that verification rejected. */
export const invalidEmails = (account: string): string =>
  `select email from addresses where account_id = ${account} and verification_status = 'invalid'`

/** SQL from item, as `c`: the active contacts of a list. The expression keeps the planner on the index of the list. */
export const activeContacts = (account: string, list: string): string =>
  `(select * from contacts where account_id || '' = ${account} and list_id = ${list} and status = 'active') c`

/** SQL from item, as `c`: all contacts of a list, whatever their status. */
export const membersOfList = (account: string, list: string): string =>
  `(select * from contacts where account_id || '' = ${account} and list_id = ${list}) c`

/** SQL from item, as `c`: row id and address of each address that is active in at least one list. */
export const activeInAnyList = (account: string): string =>
  `(select distinct row_id, email from contacts where account_id = ${account} and status = 'active') c`

/**
 * Orders the lists `l` of the contact `c` by their last update (docs/reference/rules.md#contacts). A write of known contacts does not
 * change the row of the list, which all writers of the list would wait for.
 */
export const newestFirst = 'order by greatest(l.updated_at, c.updated_at) desc, l.id'

// Joins the lists, to leave out contacts of a list that is being deleted.
const listed = 'contacts c join contact_lists l on l.account_id = c.account_id and l.id = c.list_id'

const place = columns(contacts, ['listId', 'rowId', 'email'], 'c')

/** Identifies a contact: a normalised address, optionally with `listId` and `rowId`; or `listId` and `rowId`. */
export interface ContactName {
  email?: string | undefined
  listId?: string | undefined
  rowId?: string | undefined
}

// Share-locks the address until the transaction ends: a concurrent erasure waits, and then also removes the rows that this transaction
// creates for the contact. After an earlier erasure there is no contact to find. The contact is share-locked after it, because the
// snapshot of a statement that waited for the address still has a contact that has left its list.
const byRow = `select ${place.list} from ${listed} cross join lateral (
    select from addresses where account_id = :accountId and email = c.email for key share
  ) a where c.account_id = :accountId and c.list_id = :listId and c.row_id = :rowId and :email::text is null for key share of c`

/** SQL query of the contact of an address in a list, or if that is null, in the most recently updated list that has the address. */
export const locatingAddress = (of: { account: string; email: string; list: string }, also = 'true'): string =>
  `select ${place.list} from ${listed}
  where c.account_id = ${of.account}
    and c.row_id = (select row_id from addresses where account_id = ${of.account} and email = ${of.email} for key share)
    and (${of.list}::text is null or c.list_id = ${of.list}) and ${also}
  ${newestFirst} limit 1 for key share of c`

const byEmail = locatingAddress(
  { account: ':accountId', email: ':email', list: ':listId' },
  '(:rowId::text is null or c.row_id = :rowId)',
)

/** SQL queries of `locateContact`, for use in a larger statement, with `located` as row and `locatingParameters`. */
export const locating = { row: byRow, email: byEmail } as const

export const located = place.types
export const locatingParameters = { accountId: 'text', email: 'text?', listId: 'text?', rowId: 'text?' } as const

/** Returns which query of `locating` finds the contact, with the values of its parameters. */
export const locatingBy = (
  accountId: string,
  { email = null, listId = null, rowId = null }: { [Name in keyof ContactName]: ContactName[Name] | null },
): { kind: keyof typeof locating; values: ValuesOf<typeof locatingParameters> } => ({
  kind: email === null ? 'row' : 'email',
  values: { accountId, email, listId, rowId },
})
