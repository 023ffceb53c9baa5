import { emit, isWanted } from '../events/emit.ts'
import { emailDomain } from '../lib/email.ts'
import { newId } from '../lib/ids.ts'
import { missing } from '../lib/problem.ts'
import { Outrun } from '../store/database.ts'
import type { Work } from '../store/work.ts'
import { countContacts, roomFor } from './contacts.count.ts'
import type { ContactWrite, Fields } from './contacts.fields.ts'
import { readMembers } from './contacts.find.ts'
import { verdictsWithFindings } from './contacts.findings.ts'
import { addColumns, demandList, extendColumns } from './contacts.lists.ts'
import {
  adding,
  type Changing,
  changing,
  holdingList,
  joining,
  type LockedAddress,
  lockingChanged,
  lockingVerdicts,
  type Probed,
  probing,
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
}

/** A single write of more contacts fires no contact events (api.md section 6). */
const eventsUpTo = 500

const isWeak = ({ reasons }: Verdict) => reasons.includes('dns_timeout') || reasons.includes('dns_error')

const namesOf = (writes: readonly ContactWrite[]): Set<string> => {
  const names = new Set<string>()
  for (const { fields } of writes) for (const name in fields) names.add(name)
  return names
}

/** The writes by what the account has of them, each group in the order of the addresses. */
interface Sorted {
  fresh: ContactWrite[]
  known: ContactWrite[]
  members: ContactWrite[]
  /** Known addresses, members or not, whose verdict the write replaces. */
  verdicts: { email: string; status: Verdict['status']; reasons: string[] }[]
}

/** A verdict without an answer from DNS (weak) replaces none that had one; an equal one is renewed after a day. */
const isReplacing = (verdict: Verdict, held: Verdict | null, isOld: boolean): boolean => {
  if (held === null) return true
  if (isWeak(verdict)) return false
  return isOld || verdict.status !== held.status || verdict.reasons.join() !== held.reasons.join()
}

const valid: Verdict = { status: 'valid', reasons: [] }

const probe = async (
  { sql, accountId, now }: Work,
  listId: string,
  writes: readonly ContactWrite[],
  verdicts: ReadonlyMap<string, Verdict>,
): Promise<Sorted> => {
  const emails = writes.map(({ email }) => email)
  const [row] = await sql<Probed>(probing, [accountId, listId, emails, now], 'probe-contacts')
  const { kinds, verdicts: held } = row!
  const heldAt = new Map((held ?? []).map((verdict) => [verdict[0], verdict]))
  const sorted: Sorted = { fresh: [], known: [], members: [], verdicts: [] }
  for (const [place, write] of writes.entries()) {
    const kind = kinds[place]
    if (kind === 'n') {
      sorted.fresh.push(write)
      continue
    }
    if (kind === 'm') sorted.members.push(write)
    else sorted.known.push(write)
    const verdict = verdicts.get(write.email)
    if (!verdict) continue
    const [, status, reasons, isOld] = heldAt.get(place) ?? [place, valid.status, valid.reasons, false]
    const before = status === null ? null : { status, reasons: reasons ?? [] }
    if (isReplacing(verdict, before, isOld))
      sorted.verdicts.push({ email: write.email, status: verdict.status, reasons: verdict.reasons })
  }
  return sorted
}

/** What there is of the writes, and those, last in their order, for whose addresses the plan has no room. */
const findRoom = async (
  work: Work,
  listId: string,
  writes: readonly ContactWrite[],
  verdicts: ReadonlyMap<string, Verdict>,
): Promise<{ found: Sorted; refused: ContactWrite[] }> => {
  const ordered = writes.toSorted((a, b) => byText(a.email, b.email))
  const found = await probe(work, listId, ordered, verdicts)
  if (found.fresh.length === 0) return { found, refused: [] }
  const { room, hasTurn } = await roomFor(work, found.fresh.length)
  // Those who had their turn before may have added the same.
  const { fresh, ...others } = hasTurn ? await probe(work, listId, ordered, verdicts) : found
  const isFresh = new Set(fresh)
  const refused = fresh.length > room ? writes.filter((write) => isFresh.has(write)).slice(room) : []
  const isRefused = new Set(refused)
  return { found: { ...others, fresh: fresh.filter((write) => !isRefused.has(write)) }, refused }
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

const byText = (a: string, b: string) => (a < b ? -1 : 1)

/** Somebody else has added it meanwhile: the unit of work runs again and finds it. */
const plainly = async (inserted: Promise<unknown>): Promise<void> => {
  try {
    await inserted
  } catch (error) {
    throw (error as { code?: string }).code === '23505' ? new Outrun('An address was added meanwhile') : error
  }
}

const addContacts = async (
  work: Work,
  listId: string,
  { fresh, known }: Pick<Sorted, 'fresh' | 'known'>,
  verdicts: ReadonlyMap<string, Verdict>,
  rowIds: ReadonlyMap<string, string>,
  status: Contact['status'],
): Promise<void> => {
  if (fresh.length + known.length === 0) return
  const { sql, accountId, now } = work
  const nowMs = now.getTime()
  const held = await sql(holdingList, [accountId, listId], 'hold-list')
  if (held.length === 0) throw missing('There is no such list')
  const write = (statement: string, rows: object[], name: string) =>
    plainly(sql(statement, [accountId, listId, JSON.stringify(rows), now, status], name))
  if (fresh.length > 0) {
    const rows = fresh.map(({ email, fields }) => ({
      email,
      fields,
      rowId: newId('row', nowMs),
      domain: emailDomain(email) ?? '',
      ...verdicts.get(email),
    }))
    await write(adding, rows, 'add-contacts')
  }
  if (known.length > 0) {
    const rows = known.map(({ email, fields }) => {
      const rowId = rowIds.get(email)
      if (rowId === undefined) throw new Outrun('An address was removed meanwhile')
      return { email, fields, rowId }
    })
    await write(joining, rows, 'join-contacts')
  }
}

const changeMembers = async (
  { sql, accountId, now }: Work,
  listId: string,
  members: readonly ContactWrite[],
): Promise<Map<string, Fields>> => {
  if (members.length === 0) return new Map()
  const params = [accountId, listId, JSON.stringify(members)]
  const rows = await sql<Changing>(lockingChanged, params, 'lock-changed')
  const changed = new Map(rows.map(({ email, previous }) => [email, previous]))
  if (changed.size > 0) {
    const changes = members.filter(({ email }) => changed.has(email))
    await sql(changing, [accountId, listId, JSON.stringify(changes), now], 'change-contacts')
  }
  return changed
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

const isAnyWanted = async (work: Work): Promise<boolean> =>
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
  { keepExisting = false, events = true, status = 'active', isReading = false }: WriteOptions & { isReading?: boolean },
): Promise<Written> => {
  const list = await demandList(work, listId)
  extendColumns(list.fields, namesOf(writes))
  const judged = await verdictsWithFindings(work, verdicts)
  const { found, refused } = await findRoom(work, listId, writes, judged)
  const { fresh, known, members } = found
  const created = [...fresh, ...known]

  const rowIds = await holdKnown(work, found)
  const changed = keepExisting ? new Map<string, Fields>() : await changeMembers(work, listId, members)
  await addContacts(work, listId, found, judged, rowIds, status)
  const names = namesOf([...created, ...members])
  if (names.difference(new Set(list.fields)).size > 0) await addColumns(work, listId, names)

  const isTelling =
    events && writes.length <= eventsUpTo && created.length + changed.size > 0 && (await isAnyWanted(work))
  const told = isTelling ? [...created.map(({ email }) => email), ...changed.keys()] : []
  const read = isReading ? writes.map(({ email }) => email) : told
  const contacts = read.length > 0 ? await readMembers(work, listId, read) : []
  if (isTelling) await emitChanges(work, contacts, created, changed)
  if (created.length > 0) countContacts(work, listId, created.length, fresh.length)

  const outcomes = new Map<string, Outcome>()
  for (const { email } of created) outcomes.set(email, 'created')
  for (const { email } of refused) outcomes.set(email, 'skipped')
  const same = keepExisting ? 'skipped' : 'unchanged'
  for (const { email } of members) outcomes.set(email, changed.has(email) ? 'updated' : same)
  return { outcomes, contacts }
}
