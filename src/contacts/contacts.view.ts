import type { Contact } from '../events/shapes.ts'
import type { RowOf } from '../store/column-types.ts'
import { columns } from '../store/tables.ts'
import { addresses, contactLists, contacts } from './contacts.columns.ts'
import type { Fields } from './contacts.fields.ts'

export type { Contact }

const own = columns(contacts, ['listId', 'rowId', 'email', 'fields', 'status', 'createdAt', 'updatedAt'], 'c')
const verification = columns(addresses, ['verificationStatus', 'verificationReasons', 'verifiedAt'], 'a')

/** The columns of a `ContactRow`, from contacts (c) `joinedToContact`, or from `contactsOfAddress`. */
export const contactColumns = `${own.list}, ${verification.list}, l.name as "listName", l.fields as "listFields"`

export const contactTypes = {
  ...own.types,
  ...verification.types,
  listName: contactLists.columns.name,
  listFields: contactLists.columns.fields,
} as const

type ContactRow = RowOf<typeof contactTypes>

/** SQL that joins list and address to contacts (c). */
export const joinedToContact = `
  join contact_lists l on l.id = c.list_id
  join addresses a on a.account_id = c.account_id and a.email = c.email`

/** SQL of the contacts of addresses (a). `offset 0` makes PostgreSQL look up the contacts of each address by key. */
export const contactsOfAddress = `addresses a
  cross join lateral (select * from contacts where account_id = a.account_id and row_id = a.row_id offset 0) c
  join contact_lists l on l.id = c.list_id`

/**
 * Returns the fields in the order of the list's columns, because jsonb does not keep it. Fields that become columns only at the end of the
 * unit of work come last.
 */
const inListOrder = (fields: Fields, listFields: readonly string[]): Fields => {
  const ordered: Fields = {}
  for (const name of listFields) if (Object.hasOwn(fields, name)) ordered[name] = fields[name]!
  for (const name in fields) if (!Object.hasOwn(ordered, name)) ordered[name] = fields[name]!
  return ordered
}

/** Returns the Contact (docs/reference/api.md#contact) of a row that was read or just written. */
export const viewContact = (row: ContactRow): Contact => ({
  listId: row.listId,
  listName: row.listName,
  rowId: row.rowId,
  email: row.email,
  fields: inListOrder(row.fields, row.listFields),
  status: row.status,
  verification: row.verificationStatus && {
    status: row.verificationStatus,
    reasons: row.verificationReasons ?? [],
    checkedAt: row.verifiedAt?.getTime() ?? 0,
  },
  createdAt: row.createdAt.getTime(),
  updatedAt: row.updatedAt.getTime(),
})
