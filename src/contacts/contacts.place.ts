import { emailDomain } from '../lib/email.ts'
import { newId } from '../lib/ids.ts'
import { textArray } from '../store/arrays.ts'
import { isDuplicate, Outrun } from '../store/database.ts'
import type { Work } from '../store/work.ts'
import { hasPlenty, roomFor } from './contacts.count.ts'
import type { ContactWrite } from './contacts.fields.ts'
import { joinFields, type Placed, placing } from './contacts.statement.ts'
import { isDoubtful, type Verdict, verdictOf } from './contacts.verdict.ts'
import type { Contact } from './contacts.view.ts'

/* What the account has of the addresses of a write; what is new to it is added by the statement that finds it so. */

/** In the order of the database's keys. */
export const byText = (a: string, b: string): number => (a < b ? -1 : 1)

/** A write with its fields as JSON, written once. */
export interface Draft extends ContactWrite {
  text: string
}

/** The writes by what the account has of them, each group in the order of the addresses. */
export interface Sorted {
  /** With the row that each has, where it was added. */
  fresh: (Draft & { rowId: string })[]
  known: Draft[]
  /** Members of the list whose fields the write changes, as far as was seen without a lock. */
  members: Draft[]
  /** Members that it leaves as they are. */
  same: Draft[]
  /** Of all that are there by now, those whose verdict is to be replaced. */
  verdicts: { email: string; status: Verdict['status']; reasons: string[] }[]
  /** Each address's verdict, with what mail has shown of it. */
  judged: ReadonlyMap<string, Verdict>
}

/** A verdict without an answer from DNS (weak) replaces none that had one; an equal one is renewed after a day. */
const isReplacing = (verdict: Verdict, held: Verdict | null, isOld: boolean): boolean => {
  if (held === null) return true
  if (isDoubtful(verdict)) return false
  return isOld || verdict.status !== held.status || verdict.reasons.join() !== held.reasons.join()
}

const valid: Verdict = { status: 'valid', reasons: [] }

/** The verdicts, joined with what mail has shown of their addresses. */
const joinFindings = (
  verdicts: ReadonlyMap<string, Verdict>,
  findings: Placed['findings'],
): ReadonlyMap<string, Verdict> => {
  if (findings === null) return verdicts
  const joined = new Map(verdicts)
  for (const [email, shown] of Object.entries(findings)) {
    const verdict = verdicts.get(email)
    if (verdict) joined.set(email, verdictOf([...verdict.reasons, ...shown]))
  }
  return joined
}

/** Somebody else has added it meanwhile: the unit of work runs again and finds it. */
export const plainly = async <T>(inserted: Promise<T>): Promise<T> => {
  try {
    return await inserted
  } catch (error) {
    throw isDuplicate(error) ? new Outrun('An address was added meanwhile') : error
  }
}

interface Target {
  listId: string
  /** Of contacts that are added. */
  status: Contact['status']
}

/** Sorts drafts, in the order of their addresses, and with `isAdding` adds those that are new. */
const place = async (
  { sql, accountId, now }: Work,
  { listId, status }: Target,
  drafts: readonly Draft[],
  verdicts: ReadonlyMap<string, Verdict>,
  isAdding: boolean,
): Promise<Sorted> => {
  const given = drafts.map(({ email }) => verdicts.get(email))
  // Those of one moment in their order: both indexes of contacts grow at their end.
  const rowIds = drafts.map(() => newId('row', now.getTime())).sort()
  const domains = new Map<string, string>()
  const domainOf = (email: string) =>
    domains.getOrInsertComputed(email.slice(email.lastIndexOf('@')), () => emailDomain(email) ?? '')
  const params = [
    accountId,
    listId,
    textArray(drafts.map(({ email }) => email)),
    textArray(rowIds),
    textArray(drafts.map(({ email }) => domainOf(email))),
    textArray(given.map((verdict) => verdict?.status)),
    textArray(given.map((verdict) => verdict?.reasons.join(' '))),
    joinFields(drafts.map(({ text }) => text)),
    now,
    status,
    isAdding,
  ]
  const [row] = await plainly(sql<Placed>(placing, params, 'place-contacts'))
  const { kinds, verdicts: held, findings } = row!
  const judged = joinFindings(verdicts, findings)
  const heldAt = new Map((held ?? []).map((verdict) => [verdict[0], verdict]))
  const sorted: Sorted = { fresh: [], known: [], members: [], same: [], verdicts: [], judged }
  const groups: Record<string, Draft[]> = { k: sorted.known, m: sorted.members, s: sorted.same }
  for (const [at, draft] of drafts.entries()) {
    const verdict = judged.get(draft.email)
    if (kinds[at] === 'n') {
      sorted.fresh.push({ ...draft, rowId: rowIds[at]! })
      // It was added with what was known before its findings.
      if (isAdding && verdict && verdict !== given[at]) sorted.verdicts.push({ email: draft.email, ...verdict })
      continue
    }
    groups[kinds[at]!]!.push(draft)
    if (!verdict) continue
    const [, heldStatus, reasons, isOld] = heldAt.get(at) ?? [at, valid.status, valid.reasons, false]
    const before = heldStatus === null ? null : { status: heldStatus, reasons: reasons ?? [] }
    if (isReplacing(verdict, before, isOld)) sorted.verdicts.push({ email: draft.email, ...verdict })
  }
  return sorted
}

/**
 * What there is of the writes, once those that are new are added as far as the plan has room for them, and those, last in their
 * order, for which it has none. Throws `Outrun`.
 */
export const placeWrites = async (
  work: Work,
  target: Target,
  writes: readonly ContactWrite[],
  verdicts: ReadonlyMap<string, Verdict>,
  room: { seen: number | null; turn: () => Promise<void> },
): Promise<{ found: Sorted; refused: ContactWrite[] }> => {
  const drafts = writes
    .map(({ email, fields }): Draft => ({ email, fields, text: JSON.stringify(fields) }))
    .sort((a, b) => byText(a.email, b.email))
  const isAdding = hasPlenty(room.seen, drafts.length)
  const seen = await place(work, target, drafts, verdicts, isAdding)
  if (isAdding || seen.fresh.length === 0) return { found: seen, refused: [] }
  const places = await roomFor(work, seen.fresh.length, room)
  // Those who had their turn before may have added the same.
  const found = await place(work, target, drafts, verdicts, false)
  const isFresh = new Set(found.fresh.map(({ email }) => email))
  const refused = writes.filter(({ email }) => isFresh.has(email)).slice(places)
  const isRefused = new Set(refused.map(({ email }) => email))
  const fitting = found.fresh.filter(({ email }) => !isRefused.has(email))
  if (fitting.length === 0) return { found: { ...found, fresh: [] }, refused }
  const added = await place(work, target, fitting, verdicts, true)
  if (added.fresh.length < fitting.length) throw new Outrun('An address was added meanwhile')
  return { found: { ...found, fresh: added.fresh, verdicts: [...found.verdicts, ...added.verdicts] }, refused }
}
