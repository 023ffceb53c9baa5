import { emailDomain } from '../lib/email.ts'
import { newId } from '../lib/ids.ts'
import { textArray } from '../store/arrays.ts'
import { isDuplicate, SerializationConflict } from '../store/database.ts'
import type { Work } from '../store/work.ts'
import type { OpenList } from './contacts.lists.ts'
import type { Draft, Sorted } from './contacts.probe.ts'
import { adding, joinFields, joining } from './contacts.statement.ts'
import { endStreak } from './contacts.streaks.ts'
import type { Verdict } from './contacts.verdict.ts'
import { type Contact, viewContact } from './contacts.view.ts'

/** Another transaction has added the address, or it was wrongly assumed to be new: the unit of work runs again and finds it. */
const plainly = async (listId: string, inserted: Promise<unknown>): Promise<void> => {
  try {
    await inserted
  } catch (error) {
    if (!isDuplicate(error)) throw error
    endStreak(listId)
    throw new SerializationConflict('An address exists already')
  }
}

interface Added extends Draft {
  rowId: string
  verdict: Verdict | undefined
}

/** Statuses, null where `valid`, and reasons of the verdicts, as `adding` takes them: of those who are all `valid`, none. */
const verdictsOf = (added: readonly Added[]): [statuses: string, reasons: string] => {
  const isPlain = added.every(({ verdict }) => verdict?.status === 'valid' && verdict.reasons.length === 0)
  if (isPlain) return [textArray([]), textArray([])]
  const statuses = added.map(({ verdict }) => (verdict?.status === 'valid' ? null : (verdict?.status ?? 'none')))
  return [textArray(statuses), textArray(added.map(({ verdict }) => verdict?.reasons.join(' ')))]
}

/** Adds addresses that are new to the account, and their contacts. Throws `SerializationConflict` if one of them exists by now. */
export const addNew = async (
  { sql, accountId, now }: Work,
  listId: string,
  { fresh, judged }: Sorted,
  status: Contact['status'],
): Promise<Added[]> => {
  const nowMs = now.getTime()
  // Those of one moment in their order: both indexes of contacts grow at their end.
  const rowIds = fresh.map(() => newId('row', nowMs)).sort()
  const added = fresh.map((draft, i) => ({ ...draft, rowId: rowIds[i]!, verdict: judged.get(draft.email) }))
  const domains = new Map<string, string>()
  const domainOf = (email: string) =>
    domains.getOrInsertComputed(email.slice(email.lastIndexOf('@')), () => emailDomain(email) ?? '')
  const params = [
    accountId,
    listId,
    textArray(added.map(({ email }) => email)),
    textArray(rowIds),
    textArray(added.map(({ email }) => domainOf(email))),
    ...verdictsOf(added),
    joinFields(added.map(({ text }) => text)),
    now,
    status,
  ]
  await plainly(listId, sql(adding, params, 'add-contacts'))
  return added
}

/** What was added, as reading it would give it. */
export const viewAdded = (
  { now }: Work,
  { id, name, fields: listFields }: OpenList,
  added: readonly Added[],
  status: Contact['status'],
): Contact[] =>
  added.map(({ email, fields, rowId, verdict }) =>
    viewContact({
      ...{ listId: id, listName: name, listFields: [...listFields], rowId, email, fields, status },
      ...{ verdict: verdict?.status ?? null, reasons: verdict?.reasons ?? null, checkedAt: verdict ? now : null },
      ...{ createdAt: now, updatedAt: now },
    }),
  )

/** Adds known, locked addresses to the list. Throws `SerializationConflict` if one of them is in the list, or gone, by now. */
export const joinKnown = (
  { sql, accountId, now }: Work,
  listId: string,
  { known }: Sorted,
  rowIds: ReadonlyMap<string, string>,
  status: Contact['status'],
): Promise<void> => {
  const rows = known.map(({ email, fields }) => {
    const rowId = rowIds.get(email)
    if (rowId === undefined) throw new SerializationConflict('An address was removed meanwhile')
    return { email, fields, rowId }
  })
  return plainly(listId, sql(joining, [accountId, listId, JSON.stringify(rows), now, status], 'join-contacts'))
}
