import { textArray } from '../store/arrays.ts'
import type { Work } from '../store/work.ts'
import { isQueued, noteContention } from './contacts.contention.ts'
import type { ContactWrite } from './contacts.fields.ts'
import { withFindings } from './contacts.findings.ts'
import type { OpenList } from './contacts.lists.ts'
import { hasPlenty, roomFor } from './contacts.room.ts'
import { joinFields, type Probed, probing } from './contacts.statement.ts'
import { areLikelyNew, tellOfWrite } from './contacts.streaks.ts'
import { isDoubtful, type Verdict, verdictOf } from './contacts.verdict.ts'

/* What the account has of the addresses of a write, before anything is written. */

/** In the order of the database's keys. */
export const byText = (a: string, b: string): number => (a < b ? -1 : 1)

/** A write with its fields as JSON, written once. */
export interface Draft extends ContactWrite {
  text: string
}

/** The writes by what the account has of them, each group in the order of the addresses. */
export interface Sorted {
  fresh: Draft[]
  known: Draft[]
  /** Members of the list whose fields the write changes, as far as was seen without a lock. */
  members: Draft[]
  /** Members that it leaves as they are. */
  same: Draft[]
  /** Of known addresses, members or not, those whose verdict the write replaces. */
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
  findings: Probed['findings'],
): ReadonlyMap<string, Verdict> => {
  if (findings === null) return verdicts
  const joined = new Map(verdicts)
  for (const [email, shown] of Object.entries(findings)) {
    const verdict = verdicts.get(email)
    if (verdict) joined.set(email, verdictOf([...verdict.reasons, ...shown]))
  }
  return joined
}

const probe = async (
  { sql, accountId, now }: Work,
  listId: string,
  drafts: readonly Draft[],
  verdicts: ReadonlyMap<string, Verdict>,
): Promise<Sorted> => {
  const emails = drafts.map(({ email }) => email)
  const params = [accountId, listId, textArray(emails), joinFields(drafts.map(({ text }) => text)), now]
  const [row] = await sql<Probed>(probing, params, 'probe-contacts')
  const { kinds, verdicts: held, findings } = row!
  const judged = joinFindings(verdicts, findings)
  const heldAt = new Map((held ?? []).map((verdict) => [verdict[0], verdict]))
  const sorted: Sorted = { fresh: [], known: [], members: [], same: [], verdicts: [], judged }
  const groups: Record<string, Draft[]> = { n: sorted.fresh, k: sorted.known, m: sorted.members, s: sorted.same }
  for (const [place, draft] of drafts.entries()) {
    const kind = kinds[place]!
    groups[kind]!.push(draft)
    const verdict = kind === 'n' ? undefined : judged.get(draft.email)
    if (!verdict) continue
    const [, status, reasons, isOld] = heldAt.get(place) ?? [place, valid.status, valid.reasons, false]
    const before = status === null ? null : { status, reasons: reasons ?? [] }
    if (isReplacing(verdict, before, isOld)) sorted.verdicts.push({ email: draft.email, ...verdict })
  }
  return sorted
}

/** How many rows the write adds to the list. */
const addedBy = ({ fresh, known }: Sorted): number => fresh.length + known.length

/** What a streak of new addresses says of the next ones: that they are new, too. */
const takeForNew = async (
  { sql, accountId }: Work,
  { hasFindings }: OpenList,
  drafts: Draft[],
  verdicts: ReadonlyMap<string, Verdict>,
): Promise<Sorted> => {
  const found = { fresh: drafts, known: [], members: [], same: [], verdicts: [] }
  if (!hasFindings) return { ...found, judged: verdicts }
  const judged = [...verdicts].map(([email, verdict]) => ({ accountId, email, ...verdict }))
  const joined = await withFindings(sql, judged)
  return { ...found, judged: new Map(joined.map((verdict) => [verdict.email, verdict])) }
}

/** What there is of the writes, and those, last in their order, for whose addresses the plan has no room. */
export const findRoom = async (
  work: Work,
  list: OpenList,
  writes: readonly ContactWrite[],
  verdicts: ReadonlyMap<string, Verdict>,
  turn: () => Promise<void>,
): Promise<{ found: Sorted; refused: ContactWrite[] }> => {
  const { id: listId, room: seen } = list
  const drafts = writes
    .map(({ email, fields }): Draft => ({ email, fields, text: JSON.stringify(fields) }))
    .sort((a, b) => byText(a.email, b.email))
  const mustQueue = isQueued(work)
  if (!mustQueue && areLikelyNew(listId, drafts.length) && hasPlenty(seen, drafts.length))
    return { found: await takeForNew(work, list, drafts, verdicts), refused: [] }
  const found = await probe(work, listId, drafts, verdicts)
  tellOfWrite(listId, { addresses: drafts.length, fresh: found.fresh.length })
  const adding = addedBy(found)
  if (found.fresh.length === 0 && !(mustQueue && adding > 0)) return { found, refused: [] }
  const { places, hasTicket } = await roomFor(work, found.fresh.length, { seen, turn, isQueued: mustQueue })
  // Earlier holders of the ticket may have added the same addresses.
  const { fresh, ...others } = hasTicket ? await probe(work, listId, drafts, verdicts) : found
  if (mustQueue && addedBy({ fresh, ...others }) < adding) noteContention(work.accountId)
  if (fresh.length <= places) return { found: { ...others, fresh }, refused: [] }
  const isFresh = new Set(fresh.map(({ email }) => email))
  const refused = writes.filter(({ email }) => isFresh.has(email)).slice(places)
  const isRefused = new Set(refused.map(({ email }) => email))
  return { found: { ...others, fresh: fresh.filter(({ email }) => !isRefused.has(email)) }, refused }
}
