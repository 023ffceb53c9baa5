import type { Contact } from '../events/shapes.ts'
import type { Fields } from './contacts.fields.ts'

export type { Contact }

/** What a statement selects for one contact: `contactColumns` from contacts (c) `joinedToContact`, or `contactsOfAddress`. */
export interface ContactRow {
  listId: string
  listName: string
  listFields: string[]
  rowId: string
  email: string
  fields: Fields
  status: Contact['status']
  verdict: NonNullable<Contact['verification']>['status'] | null
  reasons: string[] | null
  checkedAt: Date | null
  createdAt: Date
  updatedAt: Date
}

export const contactColumns = `c.list_id as "listId", l.name as "listName", l.fields as "listFields", c.row_id as "rowId", c.email,
  c.fields, c.status, a.verification_status as verdict, a.verification_reasons as reasons, a.verified_at as "checkedAt",
  c.created_at as "createdAt", c.updated_at as "updatedAt"`

export const joinedToContact = `
  join contact_lists l on l.id = c.list_id
  join addresses a on a.account_id = c.account_id and a.email = c.email`

/** The same for who names addresses. `offset 0`: their rows are probes of their own, whatever is said of the list. */
export const contactsOfAddress = `addresses a
  cross join lateral (select * from contacts where account_id = a.account_id and row_id = a.row_id offset 0) c
  join contact_lists l on l.id = c.list_id`

/**
 * The fields in the order of the list's columns. jsonb keeps an order of its own. Those that are no column yet, which they are at
 * the end of the unit of work that set them, come last.
 */
const inListOrder = (fields: Fields, listFields: readonly string[]): Fields => {
  const ordered: Fields = {}
  for (const name of listFields) if (Object.hasOwn(fields, name)) ordered[name] = fields[name]!
  for (const name in fields) if (!Object.hasOwn(ordered, name)) ordered[name] = fields[name]!
  return ordered
}

/** The Contact of api.md section 2, read from its row or made of what was just written. */
export const viewContact = (row: ContactRow): Contact => ({
  listId: row.listId,
  listName: row.listName,
  rowId: row.rowId,
  email: row.email,
  fields: inListOrder(row.fields, row.listFields),
  status: row.status,
  verification: row.verdict && {
    status: row.verdict,
    reasons: row.reasons ?? [],
    checkedAt: row.checkedAt?.getTime() ?? 0,
  },
  createdAt: row.createdAt.getTime(),
  updatedAt: row.updatedAt.getTime(),
})
