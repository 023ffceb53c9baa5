import { emit, isWanted } from '../../events/emit.ts'
import { preparedStatement } from '../../store/statement.ts'
import { types } from '../../store/tables.ts'
import type { Work } from '../../store/work.ts'
import { contacts } from '../contacts.columns.ts'
import type { Fields } from '../contacts.fields.ts'
import { findMembers, readContactsOf } from '../contacts.find.ts'
import type { Contact } from '../contacts.view.ts'
import { extendColumns, requireList } from '../lists/lists.ts'
import { addColumns, countContacts } from './write.count.ts'
import { changeContacts, type LockedChange } from './write.statement.ts'

/*
 * Bulk writes about addresses that the account already has: they never add an address to the account. Rows are locked in the
 * order of their addresses, lists after contacts, counters last. Each row is looked up by its key, whatever the planner's statistics
 * are (contacts/write/write.statement.ts).
 */

export interface ContactUpdate {
  listId: string
  email: string
  fields: Fields
}

const byEmail = (a: { email: string }, b: { email: string }) => (a.email < b.email ? -1 : 1)

// Locked by this statement and written by a later one, whose snapshot sees earlier commits of other transactions.
const lockContacts = preparedStatement(
  'lock-contacts',
  {
    row: types(contacts, 'email', 'listId', 'rowId', 'fields'),
    parameters: { accountId: 'text', emails: '_text', lists: '_text' },
  },
  `
  select o.email, o.list as "listId", a.row_id as "rowId", held.fields from (
    select i.email, i.list from unnest(:emails::text[], :lists::text[]) as i(email, list) order by i.email collate "C", i.list
  ) o
  cross join lateral (select row_id from addresses where account_id = :accountId and email = o.email limit 1) a
  cross join lateral (
    select fields from contacts where account_id = :accountId and row_id = a.row_id and list_id = o.list for no key update
  ) held`,
)

/**
 * Sets fields of contacts, each address of a list at most once; new names become columns. Returns the outcomes in the order of
 * `updates`; that of a contact that does not exist is null. It fires no event. Throws Problem `invalid` if a list would get more
 * than 40 columns.
 */
export const updateContacts = async (
  work: Work,
  updates: readonly ContactUpdate[],
): Promise<('updated' | 'unchanged' | null)[]> => {
  const { sql, accountId, now } = work
  const keyOf = ({ email, listId }: { email: string; listId: string }) => `${listId} ${email}`
  const [emails, lists] = [updates.map(({ email }) => email), updates.map(({ listId }) => listId)]
  const rows = await sql(lockContacts, { accountId, emails, lists })
  const held = new Map(rows.map((row) => [keyOf(row), row]))
  const outcomes = updates.map((update) => {
    const fields = held.get(keyOf(update))?.fields
    if (!fields) return null
    return Object.entries(update.fields).every(([name, value]) => fields[name] === value) ? 'unchanged' : 'updated'
  })
  const changes = updates
    .filter((_, i) => outcomes[i] === 'updated')
    .map(({ listId, email, fields }): LockedChange => {
      return { listId, rowId: held.get(keyOf({ listId, email }))!.rowId, fields }
    })
  if (changes.length === 0) return outcomes
  await sql(changeContacts, { accountId, now, changes: JSON.stringify(changes) })
  const byList = [...Map.groupBy(changes, ({ listId }) => listId)].sort(([a], [b]) => (a < b ? -1 : 1))
  for (const [listId, own] of byList) {
    const names = new Set(own.flatMap(({ fields }) => Object.keys(fields)))
    const { fields } = await requireList(work, listId)
    addColumns(work, { id: listId, fields }, names)
  }
  return outcomes
}

const joinContacts = preparedStatement(
  'join-list',
  {
    row: { email: 'text' },
    parameters: { accountId: 'text', listId: 'text', newcomers: 'jsonb', now: 'timestamptz' },
  },
  `
  insert into contacts (account_id, email, list_id, row_id, fields, status, created_at, updated_at)
  select :accountId, i.email, :listId, a.row_id, i.fields, i.status, :now, :now from (
    select * from jsonb_to_recordset(:newcomers::jsonb) as i(email text, fields jsonb, status text) order by email collate "C"
  ) i cross join lateral (
    select row_id from addresses where account_id = :accountId and email = i.email for key share
  ) a
  on conflict (account_id, row_id, list_id) do nothing returning email`,
)

const emitCreated = async (work: Work, listId: string, emails: readonly string[]): Promise<void> => {
  if (emails.length === 0 || !(await isWanted(work, 'contact.created'))) return
  const rows = await readContactsOf(work, emails)
  const added = rows.filter((contact) => contact.listId === listId)
  await emit(work, 'contact.created', () => added.map((contact) => ({ contact })))
}

/**
 * Adds contacts of other lists to a list, with their fields and status, and returns the added addresses. Existing contacts of the
 * list stay unchanged; addresses that have left the account are skipped. Emits `contact.created`. Throws Problem `not_found` if the
 * list does not exist, `invalid` if it would get more than 40 columns.
 */
export const joinList = async (
  work: Work,
  listId: string,
  contacts: readonly Pick<Contact, 'email' | 'fields' | 'status'>[],
): Promise<ReadonlySet<string>> => {
  const { sql, accountId, now } = work
  const list = await requireList(work, listId)
  const emails = contacts.map(({ email }) => email)
  const known = new Set(await findMembers(work, listId, emails))
  const newcomers = contacts
    .filter(({ email }) => !known.has(email))
    .map(({ email, fields, status }) => ({ email, fields, status }))
  if (newcomers.length === 0) return new Set()
  const names = new Set(newcomers.flatMap(({ fields }) => Object.keys(fields)))
  extendColumns(list.fields, names)
  const sorted = JSON.stringify(newcomers.sort(byEmail))
  const rows = await sql(joinContacts, { accountId, listId, newcomers: sorted, now })
  const added = rows.map(({ email }) => email)
  await emitCreated(work, listId, added)
  if (added.length > 0) addColumns(work, { id: listId, fields: list.fields }, names)
  countContacts(work, listId, added.length, 0)
  return new Set(added)
}
