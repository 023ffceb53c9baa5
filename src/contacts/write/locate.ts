import type { ValuesOf } from '../../store/column-types.ts'
import { preparedStatement } from '../../store/statement.ts'
import { types } from '../../store/tables.ts'
import type { Work } from '../../store/work.ts'
import { contacts } from '../contacts.columns.ts'
import { contactAt } from '../contacts.rows.ts'
import type { Contact } from '../contacts.view.ts'

/** One contact: an address in a list. */
export interface ContactPlace {
  listId: string
  rowId: string
  email: string
}

// Joins the lists, to leave out contacts of a list that is being deleted.
const listed = 'contacts c join contact_lists l on l.account_id = c.account_id and l.id = c.list_id'

const columns = 'c.list_id as "listId", c.row_id as "rowId", c.email'

/** Identifies a contact: a normalised address, optionally with `listId` and `rowId`; or `listId` and `rowId`. */
interface ContactName {
  email?: string | undefined
  listId?: string | undefined
  rowId?: string | undefined
}

// Share-locks the address until the transaction ends: a concurrent erasure waits, and then also removes the rows that this transaction
// creates for the contact. After an earlier erasure there is no contact to find. The contact is share-locked after it, because the
// snapshot of a statement that waited for the address still has a contact that has left its list.
const byRow = `select ${columns} from ${listed} cross join lateral (
    select from addresses where account_id = :accountId and email = c.email for key share
  ) a where c.account_id = :accountId and c.list_id = :listId and c.row_id = :rowId and :email::text is null for key share of c`

/** SQL query of the contact of an address in a list, or if that is null, in the list where the address was changed last. */
export const locatingAddress = (of: { account: string; email: string; list: string }, also = 'true'): string =>
  `select ${columns} from ${listed}
  where c.account_id = ${of.account}
    and c.row_id = (select row_id from addresses where account_id = ${of.account} and email = ${of.email} for key share)
    and (${of.list}::text is null or c.list_id = ${of.list}) and ${also}
  order by c.updated_at desc, l.id limit 1 for key share of c`

const byEmail = locatingAddress(
  { account: ':accountId', email: ':email', list: ':listId' },
  '(:rowId::text is null or c.row_id = :rowId)',
)

/** SQL queries of `locateContact`, for use in a larger statement, with `located` as row and `locatingParameters`. */
export const locating = { row: byRow, email: byEmail } as const

export const located = types(contacts, 'listId', 'rowId', 'email')
export const locatingParameters = { accountId: 'text', email: 'text?', listId: 'text?', rowId: 'text?' } as const

/** Returns which query of `locating` finds the contact, with the values of its parameters. */
export const locatingBy = (
  accountId: string,
  { email = null, listId = null, rowId = null }: { [Name in keyof ContactName]: ContactName[Name] | null },
): { kind: keyof typeof locating; values: ValuesOf<typeof locatingParameters> } => ({
  kind: email === null ? 'row' : 'email',
  values: { accountId, email, listId, rowId },
})

const locate = (kind: keyof typeof locating) =>
  preparedStatement(`locate-${kind}`, { row: located, parameters: locatingParameters }, locating[kind])
const locates = { row: locate('row'), email: locate('email') }

/** Returns the matching contact; without `listId`, from the list where the address was changed last. Returns null if none matches. */
export const locateContact = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  name: ContactName,
): Promise<ContactPlace | null> => {
  const { kind, values } = locatingBy(accountId, name)
  const [place] = await sql(locates[kind], values)
  return place ?? null
}

const lockingContact = preparedStatement(
  'lock-contact',
  { row: types(contacts, 'status'), parameters: types(contacts, 'accountId', 'listId', 'rowId') },
  `select status from ${contactAt(':accountId', ':listId', ':rowId', 'for no key update')} c`,
)

/** Locks a contact against changes until the unit of work ends, and returns its status; null if it does not exist. */
export const lockContact = async (
  { sql, accountId }: Work,
  { listId, rowId }: Pick<ContactPlace, 'listId' | 'rowId'>,
): Promise<Contact['status'] | null> => {
  const [contact] = await sql(lockingContact, { accountId, listId, rowId })
  return contact?.status ?? null
}
