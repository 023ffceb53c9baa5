import { emit, isWanted } from '../events/emit.ts'
import type { Work } from '../store/work.ts'
import { addNew, joinKnown, viewAdded } from './contacts.add.ts'
import { addColumns, countContacts } from './contacts.count.ts'
import type { ContactWrite, Fields } from './contacts.fields.ts'
import { readMembers } from './contacts.find.ts'
import { extendColumns, openList } from './contacts.lists.ts'
import { byText, type Draft, findRoom, type Sorted } from './contacts.probe.ts'
import {
  type Changing,
  changing,
  type LockedAddress,
  type LockedChange,
  lockingChanged,
  lockingVerdicts,
  sharingKnown,
  writingVerdicts,
} from './contacts.statement.ts'
import type { Verdict } from './contacts.verdict.ts'
import type { Contact } from './contacts.view.ts'

/** `skipped`: a new address beyond the plan's contact limit, or one that `keepExisting` left as it is. */
export type Outcome = 'created' | 'updated' | 'unchanged' | 'skipped'

export interface WriteOptions {
  /** Contacts that are in the list already stay as they are: `skipped`. */
  keepExisting?: boolean
  /** false: fires no contact events. */
  events?: boolean
  /** Of contacts that are added; one that is in the list keeps its own. */
  status?: Contact['status']
  /** Awaited before anything is locked at which all writers of the list or the account meet. */
  turn?: () => Promise<void>
}

/** A single write of more contacts fires no contact events (api.md section 6). */
const eventsUpTo = 500

const namesOf = (writes: readonly ContactWrite[]): Set<string> => {
  const names = new Set<string>()
  for (const { fields } of writes) for (const name in fields) names.add(name)
  return names
}

/** Holds the known addresses that join the list, and those whose verdict changes, and writes these. Gives the row ids. */
const holdKnown = async (
  { sql, accountId, now }: Work,
  { known, verdicts }: Sorted,
): Promise<ReadonlyMap<string, string>> => {
  const [joins, judged] = [known.map(({ email }) => email), verdicts.map(({ email }) => email)]
  if (joins.length + judged.length === 0) return new Map()
  const emails = judged.length > 0 ? [...new Set([...joins, ...judged])].sort(byText) : joins
  const [statement, name] =
    judged.length > 0 ? [lockingVerdicts, 'lock-verdicts'] : [sharingKnown, 'share-known-addresses']
  const held = await sql<LockedAddress>(statement, [accountId, emails], name)
  if (judged.length > 0) await sql(writingVerdicts, [accountId, JSON.stringify(verdicts), now], 'write-verdicts')
  return new Map(held.map(({ email, rowId }) => [email, rowId]))
}

const changeMembers = async (
  { sql, accountId, now }: Work,
  listId: string,
  members: readonly Draft[],
): Promise<Map<string, Fields>> => {
  if (members.length === 0) return new Map()
  const params = [accountId, listId, JSON.stringify(members.map(({ email, fields }) => ({ email, fields })))]
  const rows = await sql<Changing>(lockingChanged, params, 'lock-changed')
  if (rows.length > 0) {
    const fieldsOf = new Map(members.map(({ email, fields }) => [email, fields]))
    const changes = rows.map(({ email, rowId }): LockedChange => ({ listId, rowId, fields: fieldsOf.get(email)! }))
    await sql(changing, [accountId, now, JSON.stringify(changes)], 'change-contacts')
  }
  return new Map(rows.map(({ email, previous }) => [email, previous]))
}

/** The old values of the fields that a write changed, `""` where one was not set. */
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
      updated.map((contact) => ({ contact, previous: previousValues(changed.get(contact.email)!, contact.fields) })),
    )
  }
}

/** Whether anybody in the account would hear of contacts that are written. */
export const areWritesHeard = async (work: Work): Promise<boolean> =>
  (await isWanted(work, 'contact.created')) || (await isWanted(work, 'contact.updated'))

/** What became of each address, and the contacts that were asked for. */
interface Written {
  outcomes: Map<string, Outcome>
  contacts: Contact[]
}

/** As `writeContacts`, with the contacts as they are then, of all that are in the list. */
export const writeAndRead = (
  work: Work,
  listId: string,
  writes: readonly ContactWrite[],
  verdicts: ReadonlyMap<string, Verdict>,
): Promise<Written> => write(work, listId, writes, verdicts, { isReading: true })

/**
 * One set-based write of distinct, normalised addresses into one list: all or nothing, with its contact events. New
 * field names become columns. Gives what became of each address. Throws Problem `missing` for a list that is not there,
 * `invalid` where the list would get more than 40 columns.
 */
export const writeContacts = async (
  work: Work,
  listId: string,
  writes: readonly ContactWrite[],
  verdicts: ReadonlyMap<string, Verdict>,
  options: WriteOptions = {},
): Promise<Map<string, Outcome>> => (await write(work, listId, writes, verdicts, options)).outcomes

const write = async (
  work: Work,
  listId: string,
  writes: readonly ContactWrite[],
  verdicts: ReadonlyMap<string, Verdict>,
  options: WriteOptions & { isReading?: boolean },
): Promise<Written> => {
  const { keepExisting = false, events = true, status = 'active', turn = async () => {}, isReading = false } = options
  const list = await openList(work, listId)
  const given = namesOf(writes)
  extendColumns(list.fields, given)
  const { found, refused } = await findRoom(work, list, writes, verdicts, turn)
  const { fresh, known, members, same } = found
  const created = [...fresh, ...known]

  const rowIds = await holdKnown(work, found)
  const changed = keepExisting ? new Map<string, Fields>() : await changeMembers(work, listId, members)
  const added = fresh.length > 0 ? await addNew(work, listId, found, status) : []
  if (known.length > 0) await joinKnown(work, listId, found, rowIds, status)
  const names = refused.length === 0 ? given : namesOf([...created, ...members, ...same])
  const fields = addColumns(work, list, names)

  const isTelling =
    events && writes.length <= eventsUpTo && created.length + changed.size > 0 && (await areWritesHeard(work))
  const contacts: Contact[] = []
  if (isReading || isTelling) {
    const others = isReading ? [...members, ...same] : members.filter(({ email }) => changed.has(email))
    const read = [...known, ...others].map(({ email }) => email)
    if (read.length > 0) contacts.push(...(await readMembers(work, listId, read, fields)))
    contacts.push(...viewAdded(work, { ...list, fields }, added, status))
  }
  if (isTelling) await emitChanges(work, contacts, created, changed)
  if (created.length > 0) countContacts(work, listId, created.length, fresh.length)

  const outcomes = new Map<string, Outcome>()
  for (const { email } of created) outcomes.set(email, 'created')
  for (const { email } of refused) outcomes.set(email, 'skipped')
  const left = keepExisting ? 'skipped' : 'unchanged'
  for (const { email } of [...members, ...same]) outcomes.set(email, changed.has(email) ? 'updated' : left)
  return { outcomes, contacts }
}
