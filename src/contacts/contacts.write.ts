import { emit, isWanted } from '../events/emit.ts'
import { emailDomain } from '../lib/email.ts'
import { newId } from '../lib/ids.ts'
import type { Work } from '../store/work.ts'
import type { ContactWrite, Fields } from './contacts.fields.ts'
import { verdictsWithFindings } from './contacts.findings.ts'
import { addColumns, demandList, extendColumns } from './contacts.lists.ts'
import { type BareRow, bareStatement, type FullRow, fullStatement } from './contacts.statement.ts'
import { isDoubtful, type Verdict } from './contacts.verdict.ts'
import { type Contact, viewContact } from './contacts.view.ts'

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

/** In the order of the addresses, so that index probes and inserts go the same way. What is absent is null. */
const encode = (writes: readonly ContactWrite[], verdicts: ReadonlyMap<string, Verdict>, now: Date): string =>
  JSON.stringify(
    writes
      .map((write, place) => ({ ...write, place }))
      .sort((a, b) => (a.email < b.email ? -1 : 1))
      .map(({ email, fields, place }) => {
        const verdict = verdicts.get(email)
        const row_id = newId('row', now.getTime())
        // A verdict without an answer from DNS (weak) replaces none that had one.
        const weak = (verdict && isDoubtful(verdict)) || undefined
        return { place, email, fields, row_id, domain: emailDomain(email) ?? '', ...verdict, weak }
      }),
  )

const namesOf = (writes: readonly ContactWrite[]): Set<string> => {
  const names = new Set<string>()
  for (const { fields } of writes) for (const name of Object.keys(fields)) names.add(name)
  return names
}

interface Result {
  outcomes: Map<string, Outcome>
  /** What events need; empty where nobody wants any. */
  changes: FullRow[]
}

/** Runs the statement until each write has its outcome: again for those that met a concurrent change. */
const runStatement = async (
  work: Work,
  listId: string,
  writes: readonly ContactWrite[],
  verdicts: ReadonlyMap<string, Verdict>,
  { keepExisting, full, status }: { keepExisting: boolean; full: boolean; status: Contact['status'] },
): Promise<Result> => {
  const outcomes = new Map<string, Outcome>()
  const changes: FullRow[] = []
  for (let open = writes; open.length > 0; ) {
    const params = [work.accountId, listId, encode(open, verdicts, work.now), work.now, keepExisting, status]
    const [statement, name] = full ? [fullStatement, 'write-contacts-full'] : [bareStatement, 'write-contacts']
    const rows = await work.sql<BareRow | FullRow>(statement, params, name)
    const refused = new Set<string>()
    for (const row of rows) {
      if (row.kind === 'refused') refused.add(row.email)
      else if (row.kind === 'present') outcomes.set(row.email, keepExisting ? 'skipped' : 'unchanged')
      else outcomes.set(row.email, row.kind)
      if (full && (row.kind === 'created' || row.kind === 'updated')) changes.push(row as FullRow)
    }
    const conflicts = open.filter(({ email }) => !outcomes.has(email) && !refused.has(email))
    // It may be the list that is gone, and then nothing is written at all.
    if (conflicts.length > 0) await demandList(work, listId)
    else for (const email of refused) outcomes.set(email, 'skipped')
    // What met a concurrent insert took room that was not its to take: those refused for it get their chance as well.
    open = open.filter(({ email }) => !outcomes.has(email))
  }
  return { outcomes, changes }
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
  list: { listId: string; listName: string; listFields: string[] },
  changes: readonly FullRow[],
): Promise<void> => {
  const created = changes.filter((row) => row.kind === 'created')
  const updated = changes.filter((row) => row.kind === 'updated')
  const contactOf = (row: FullRow) => viewContact({ ...row, ...list, updatedAt: work.now })
  if (created.length > 0) {
    await emit(work, 'contact.created', () => created.map((row) => ({ contact: contactOf(row) })))
  }
  if (updated.length > 0) {
    await emit(work, 'contact.updated', () =>
      updated.map((row) => {
        const contact = contactOf(row)
        return { contact, previous: previousValues(row.previous ?? {}, contact.fields) }
      }),
    )
  }
}

const isAnyWanted = async (work: Work): Promise<boolean> =>
  (await isWanted(work, 'contact.created')) || (await isWanted(work, 'contact.updated'))

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
  { keepExisting = false, events = true, status = 'active' }: WriteOptions = {},
): Promise<Map<string, Outcome>> => {
  const list = await demandList(work, listId)
  const names = namesOf(writes)
  const columns = extendColumns(list.fields, names)
  const full = events && writes.length <= eventsUpTo && (await isAnyWanted(work))
  const known = await verdictsWithFindings(work, verdicts)
  const { outcomes, changes } = await runStatement(work, listId, writes, known, { keepExisting, full, status })
  const listFields = columns.length > list.fields.length ? await addColumns(work, listId, names) : list.fields
  await emitChanges(work, { listId, listName: list.name, listFields }, changes)
  return outcomes
}
