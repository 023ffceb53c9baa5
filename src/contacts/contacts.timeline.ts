import { midnightOf } from '../lib/days.ts'
import { noSuch } from '../lib/problem.ts'
import type { RowOf } from '../store/column-types.ts'
import { epochMs } from '../store/epoch-ms.ts'
import { statement } from '../store/statement.ts'
import type { AccountSql, App } from '../store/work.ts'
import { readContacts } from './contacts.find.ts'
import type { Contact } from './contacts.view.ts'

const entryTypes = {
  /** epoch ms */
  at: 'int8',
  /** `email.opened`, `deal.won` … */
  kind: 'text',
  title: 'text',
  /** The id of what it is about, such as the email or the deal. */
  id: 'text',
} as const

/** Something that an address did, or that happened to it (docs/reference/rules.md#timeline). */
export type TimelineEntry = RowOf<typeof entryTypes>

/** The entries of one feature. */
export interface TimelinePart {
  /** Returns the newest `limit` entries of a normalised address, in the order of the timeline. */
  read(reader: AccountSql, email: string, limit: number): Promise<readonly TimelineEntry[]>
}

/**
 * Declares the entries of a feature. `rows` is a query of `at` (a time), `kind`, `title` and `id`, with the account as `:accountId` and the
 * address as `:email`. It looks rows up by the address, so that its cost depends on this person only.
 */
export const timelinePart = (name: string, rows: string): TimelinePart => {
  const readEntries = statement(
    `timeline-of-${name}`,
    { row: entryTypes, parameters: { accountId: 'text', email: 'text', limit: 'int8' } },
    `select e.* from (
       select ${epochMs('r.at')} as at, r.kind, r.title, r.id from (${rows}) r
     ) e order by e.at desc, e.id collate "C" desc, e.kind collate "C" desc limit :limit`,
  )
  return { read: ({ sql, accountId }, email, limit) => sql(readEntries, { accountId, email, limit }) }
}

const descending = (a: string, b: string): number => (a < b ? 1 : a > b ? -1 : 0)

const inOrder = (a: TimelineEntry, b: TimelineEntry): number =>
  b.at - a.at || descending(a.id, b.id) || descending(a.kind, b.kind)

/** Imports keep when and how a contact consented in these fields. */
const consentOf = ({ fields, listId, listName }: Contact): TimelineEntry[] => {
  const given = fields.consent_at ?? ''
  // Without an offset Date.parse takes the time zone of the process.
  const isLocal = /:\d\d(\.\d+)?$/.test(given) && !/[+-]\d\d:\d\d$/.test(given)
  const at = midnightOf(given.slice(0, 10)) === null ? Number.NaN : Date.parse(isLocal ? `${given}Z` : given)
  return Number.isNaN(at) ? [] : [{ at, kind: 'consent.given', title: fields.consent_source || listName, id: listId }]
}

/** The list that the contact was added to, and its consent. */
const entriesOf = (contact: Contact): TimelineEntry[] => [
  { at: contact.createdAt, kind: 'contact.added', title: contact.listName, id: contact.listId },
  ...consentOf(contact),
]

/**
 * Returns the newest `limit` entries about a normalised address, newest first, with its contacts. An address that is in no list any more
 * can still have entries. Throws Problem `not_found` if it has neither.
 */
export const readTimeline = async (
  { timelineParts }: Pick<App, 'timelineParts'>,
  work: AccountSql,
  email: string,
  limit: number,
): Promise<{ contacts: Contact[]; timeline: TimelineEntry[] }> => {
  const contacts = await readContacts(work, email)
  const entries = contacts.flatMap(entriesOf)
  for (const { read } of await timelineParts()) entries.push(...(await read(work, email, limit)))
  if (contacts.length === 0 && entries.length === 0) throw noSuch('contact', email, { hint: 'svc contacts list' })
  return { contacts, timeline: entries.sort(inOrder).slice(0, limit) }
}
