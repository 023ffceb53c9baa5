import { preparedStatement } from '../../store/statement.ts'
import type { Work } from '../../store/work.ts'
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
    select from addresses where account_id = $1 and email = c.email for key share
  ) a where c.account_id = $1 and c.list_id = $3 and c.row_id = $4 and $2::text is null for key share of c`

/** SQL query of the contact of an address in a list, or if that is null, in the list where the address was changed last. */
export const locatingAddress = (of: { account: string; email: string; list: string }, also = 'true'): string =>
  `select ${columns} from ${listed}
  where c.account_id = ${of.account}
    and c.row_id = (select row_id from addresses where account_id = ${of.account} and email = ${of.email} for key share)
    and (${of.list}::text is null or c.list_id = ${of.list}) and ${also}
  order by c.updated_at desc, l.id limit 1 for key share of c`

const byEmail = locatingAddress({ account: '$1', email: '$2', list: '$3' }, '($4::text is null or c.row_id = $4)')

/** SQL queries of `locateContact`, for use in a larger statement. Their parameters are `$1` to `$4`. */
export const locating = { row: byRow, email: byEmail } as const

/** Returns which query of `locating` finds the contact, with its parameters. */
export const locatingBy = (
  accountId: string,
  { email, listId, rowId }: ContactName,
): { kind: keyof typeof locating; params: (string | null)[] } => ({
  kind: email === undefined ? 'row' : 'email',
  params: [accountId, email ?? null, listId ?? null, rowId ?? null],
})

const locate = (kind: keyof typeof locating) =>
  preparedStatement<ContactPlace>(`locate-${kind}`, { listId: 'text', rowId: 'text', email: 'text' }, locating[kind])
const locates = { row: locate('row'), email: locate('email') }

/** Returns the matching contact; without `listId`, from the list where the address was changed last. null: none matches. */
export const locateContact = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  name: ContactName,
): Promise<ContactPlace | null> => {
  const { kind, params } = locatingBy(accountId, name)
  const [place] = await sql(locates[kind], params)
  return place ?? null
}

const lockingContact = preparedStatement<Pick<Contact, 'status'>>(
  'lock-contact',
  { status: 'text' },
  `select status from ${contactAt('$1', '$2', '$3', 'for no key update')} c`,
)

/** Locks a contact against changes until the unit of work ends, and returns its status; null if it does not exist. */
export const lockContact = async (
  { sql, accountId }: Work,
  { listId, rowId }: Pick<ContactPlace, 'listId' | 'rowId'>,
): Promise<Contact['status'] | null> => {
  const [contact] = await sql(lockingContact, [accountId, listId, rowId])
  return contact?.status ?? null
}
