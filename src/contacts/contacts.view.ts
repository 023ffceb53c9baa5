import type { Contact } from '../events/shapes.ts'
import type { Fields } from './contacts.fields.ts'

export type { Contact }

/** A row with `contactColumns`, selected from contacts (c) `joinedToContact`, or from `contactsOfAddress`. */
export interface ContactRow {
  listId: string
  listName: string
  listFields: string[]
  rowId: string
  email: string
  fields: Fields
  status: Contact['status']
  verificationStatus: NonNullable<Contact['verification']>['status'] | null
  reasons: string[] | null
  checkedAt: Date | null
  createdAt: Date
  updatedAt: Date
}

export const contactColumns = `c.list_id as "listId", l.name as "listName", l.fields as "listFields", c.row_id as "rowId", c.email,
  c.fields, c.status, a.verification_status as "verificationStatus", a.verification_reasons as reasons, a.verified_at as "checkedAt",
  c.created_at as "createdAt", c.updated_at as "updatedAt"`

/** The types of `contactColumns`, for declared statements. */
export const contactTypes = {
  listId: 'text',
  listName: 'text',
  listFields: '_text',
  rowId: 'text',
  email: 'text',
  fields: 'jsonb',
  status: 'text',
  verificationStatus: 'text',
  reasons: '_text',
  checkedAt: 'timestamptz',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
} as const

export const joinedToContact = `
  join contact_lists l on l.id = c.list_id
  join addresses a on a.account_id = c.account_id and a.email = c.email`

/** As `joinedToContact`, for lookups by address. `offset 0` makes PostgreSQL look up the contacts of each address by key. */
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
    reasons: row.reasons ?? [],
    checkedAt: row.checkedAt?.getTime() ?? 0,
  },
  createdAt: row.createdAt.getTime(),
  updatedAt: row.updatedAt.getTime(),
})
