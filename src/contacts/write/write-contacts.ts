import { emit, isWanted } from '../../events/emit.ts'
import type { Work } from '../../store/work.ts'
import type { ContactWrite, Fields } from '../contacts.fields.ts'
import { readMembers } from '../contacts.find.ts'
import type { Contact } from '../contacts.view.ts'
import { extendColumns, fieldsWithRoom } from '../lists/lists.ts'
import type { VerificationResult } from '../verification/result.ts'
import { addNewAddresses, addNewMembers, type NewContact, type StatusOf, viewAdded } from './add.ts'
import { byText, type Classified, classify, type Draft, type OpenList, openList } from './classify.ts'
import { addColumns, columnsOf, countContacts } from './write.count.ts'
import {
  changeContacts,
  type LockedChange,
  lockChanged,
  lockForResults,
  shareKnown,
  writeVerifications,
} from './write.statement.ts'

/**
 * The outcome of a write. `skipped` is that of a new address beyond the plan's contact limit, or of a contact that `keepExisting`
 * left unchanged.
 */
export type Outcome = 'created' | 'updated' | 'unchanged' | 'skipped'

interface WriteOptions {
  /** Existing contacts of the list stay unchanged; their outcome is `skipped`. */
  keepExisting?: boolean
  /** Fields for whose columns the list has no room are left out. Without it, they make the write fail. */
  leavesOutExcess?: boolean
  /** If it is false, no contact events fire. */
  events?: boolean
  /** Status of added contacts; existing ones keep theirs. */
  status?: Contact['status']
  /** Addresses whose added contacts are `pending`, whatever `status` says. */
  pending?: ReadonlySet<string>
  /** It is awaited before any lock for which all writers of the list or the account contend. */
  waitForTurn?: () => Promise<void>
}

/** Larger writes fire no contact events (docs/reference/events.md#sources). */
const maxWithEvents = 500

const namesOf = (writes: readonly ContactWrite[]): Set<string> => {
  const names = new Set<string>()
  for (const { fields } of writes) for (const name in fields) names.add(name)
  return names
}

/** Locks addresses that join the list or get a new verification result, and writes the results. Returns the row ids. */
const lockAddresses = async (
  { sql, accountId, now }: Work,
  { newMembers, verifications }: Classified,
): Promise<ReadonlyMap<string, string>> => {
  const [joins, verified] = [newMembers.map(({ email }) => email), verifications.map(({ email }) => email)]
  if (joins.length + verified.length === 0) return new Map()
  const emails = verified.length > 0 ? [...new Set([...joins, ...verified])].sort(byText) : joins
  const held = await sql(verified.length > 0 ? lockForResults : shareKnown, { accountId, emails })
  if (verified.length > 0)
    await sql(writeVerifications, { accountId, verifications: JSON.stringify(verifications), now })
  return new Map(held.map(({ email, rowId }) => [email, rowId]))
}

const changeMembers = async (
  { sql, accountId, now }: Work,
  listId: string,
  members: readonly Draft[],
): Promise<Map<string, Fields>> => {
  if (members.length === 0) return new Map()
  const given = JSON.stringify(members.map(({ email, fields }) => ({ email, fields })))
  const rows = await sql(lockChanged, { accountId, listId, changes: given })
  if (rows.length > 0) {
    const fieldsOf = new Map(members.map(({ email, fields }) => [email, fields]))
    const changes = rows.map(({ email, rowId }): LockedChange => ({ listId, rowId, fields: fieldsOf.get(email)! }))
    await sql(changeContacts, { accountId, now, changes: JSON.stringify(changes) })
  }
  return new Map(rows.map(({ email, previous }) => [email, previous]))
}

/** Returns the old values of the changed fields; `""` for a field that was not set. */
const previousValues = (before: Fields, after: Fields): Fields => {
  const previous: Fields = {}
  for (const [name, value] of Object.entries(after)) {
    if (!Object.hasOwn(before, name)) previous[name] = ''
    else if (before[name] !== value) previous[name] = before[name]!
  }
  return previous
}

const emitChanges = async (
  work: Work,
  contacts: readonly Contact[],
  created: readonly ContactWrite[],
  changed: ReadonlyMap<string, Fields>,
): Promise<void> => {
  const isNew = new Set(created.map(({ email }) => email))
  const added = contacts.filter(({ email }) => isNew.has(email))
  const updated = contacts.filter(({ email }) => changed.has(email))
  if (added.length > 0) await emit(work, 'contact.created', () => added.map((contact) => ({ contact })))
  if (updated.length > 0) {
    await emit(work, 'contact.updated', () =>
      updated.map((contact) => {
        const previous = previousValues(changed.get(contact.email)!, contact.fields)
        return { contact, changed: Object.keys(previous), previous }
      }),
    )
  }
}

/** Returns whether the account has subscribers or journeys for contact events of writes. */
export const areWriteEventsWanted = async (work: Work): Promise<boolean> =>
  (await isWanted(work, 'contact.created')) || (await isWanted(work, 'contact.updated'))

/** The outcome of each address, and the contacts that were requested. */
interface Written {
  outcomes: Map<string, Outcome>
  contacts: Contact[]
}

/** Writes contacts like `writeContacts`, and also returns them after the write, except skipped ones. */
export const writeAndRead = (
  work: Work,
  listId: string,
  writes: readonly ContactWrite[],
  verifications: ReadonlyMap<string, VerificationResult>,
  options: WriteOptions = {},
): Promise<Written> => write(work, listId, writes, verifications, { ...options, isReading: true })

/**
 * Writes distinct, normalised addresses into one list, all or nothing, with their contact events. New field names become columns.
 * Returns the outcome of each address. Throws Problem `not_found` if the list does not exist, `invalid` if it would get more than
 * 40 columns.
 */
export const writeContacts = async (
  work: Work,
  listId: string,
  writes: readonly ContactWrite[],
  verifications: ReadonlyMap<string, VerificationResult>,
  options: WriteOptions = {},
): Promise<Map<string, Outcome>> => (await write(work, listId, writes, verifications, options)).outcomes

/** What `apply` did. */
interface Applied {
  added: NewContact[]
  /** Previous fields of changed contacts, by address. */
  changed: ReadonlyMap<string, Fields>
  /** Columns of the list after the write. */
  columns: string[]
}

/** Writes the classified contacts in lock order, and defers columns and counters to the end of the unit of work. */
const apply = async (
  work: Work,
  list: OpenList,
  found: Classified,
  { names, keepExisting, statusOf }: { names: ReadonlySet<string>; keepExisting: boolean; statusOf: StatusOf },
): Promise<Applied> => {
  const { newAddresses, newMembers, changedMembers } = found
  const rowIds = await lockAddresses(work, found)
  const changed = keepExisting ? new Map<string, Fields>() : await changeMembers(work, list.id, changedMembers)
  const added = newAddresses.length > 0 ? await addNewAddresses(work, list.id, found, statusOf) : []
  if (newMembers.length > 0) await addNewMembers(work, list.id, newMembers, rowIds, statusOf)
  const columns = addColumns(work, list, names)
  const created = newAddresses.length + newMembers.length
  if (created > 0) countContacts(work, list.id, created, newAddresses.length)
  return { added, changed, columns }
}

/** Emits the contact events, and returns the contacts after the write if `isReading`. */
const publish = async (
  work: Work,
  list: OpenList,
  { newAddresses, newMembers, changedMembers, unchangedMembers }: Classified,
  { added, changed, columns }: Applied,
  { events, isReading }: { events: boolean; isReading: boolean },
): Promise<Contact[]> => {
  const created = [...newAddresses, ...newMembers]
  const emitsEvents = events && created.length + changed.size > 0 && (await areWriteEventsWanted(work))
  if (!isReading && !emitsEvents) return []
  const others = isReading
    ? [...changedMembers, ...unchangedMembers]
    : changedMembers.filter(({ email }) => changed.has(email))
  const emails = [...newMembers, ...others].map(({ email }) => email)
  const contacts = emails.length > 0 ? await readMembers(work, list.id, emails, columns) : []
  contacts.push(...viewAdded(work, { ...list, fields: columns }, added))
  if (emitsEvents) await emitChanges(work, contacts, created, changed)
  return contacts
}

const write = async (
  work: Work,
  listId: string,
  wanted: readonly ContactWrite[],
  verifications: ReadonlyMap<string, VerificationResult>,
  options: WriteOptions & { isReading?: boolean },
): Promise<Written> => {
  const { keepExisting = false, status = 'active', pending, waitForTurn = async () => {}, isReading = false } = options
  const statusOf: StatusOf = (email) => (pending?.has(email) ? 'pending' : status)
  const events = (options.events ?? true) && wanted.length <= maxWithEvents
  const list = await openList(work, listId)
  const writes = options.leavesOutExcess
    ? wanted.map(({ email, fields }) => ({ email, fields: fieldsWithRoom(columnsOf(work, list), fields) }))
    : wanted
  const given = namesOf(writes)
  extendColumns(list.fields, given)

  const { found, refused } = await classify(work, list, writes, verifications, waitForTurn)
  const created = [...found.newAddresses, ...found.newMembers]
  const existing = [...found.changedMembers, ...found.unchangedMembers]
  const names = refused.length === 0 ? given : namesOf([...created, ...existing])
  const applied = await apply(work, list, found, { names, keepExisting, statusOf })
  const contacts = await publish(work, list, found, applied, { events, isReading })

  const outcomes = new Map<string, Outcome>()
  for (const { email } of created) outcomes.set(email, 'created')
  for (const { email } of refused) outcomes.set(email, 'skipped')
  const left = keepExisting ? 'skipped' : 'unchanged'
  for (const { email } of existing) outcomes.set(email, applied.changed.has(email) ? 'updated' : left)
  return { outcomes, contacts }
}
