import { contactsLeft } from '../../accounts/accounts.ts'
import { notFound } from '../../lib/problem.ts'
import { preparedStatement } from '../../store/statement.ts'
import type { Work } from '../../store/work.ts'
import type { ContactWrite } from '../contacts.fields.ts'
import { isInconclusive, resultOf, type VerificationResult } from '../verification/result.ts'
import { withSignals } from '../verification/signals.ts'
import { isQueued, noteContention } from './contention.ts'
import { areLikelyNew, noteWrite } from './new-addresses.ts'
import { hasAmpleCapacity, reserveCapacity } from './write.capacity.ts'
import { joinFields, type Probed, probeContacts } from './write.statement.ts'

/* The first part of a write: looks up which addresses the account and the list already have. Nothing is written yet. */

/** A list to write contacts into. */
export interface OpenList {
  id: string
  name: string
  fields: string[]
  /** Contacts that the account's plan had left; null if there is no limit. */
  capacity: number | null
  /** Whether any address of the account has a signal. */
  hasSignals: boolean
}

const readOpenList = preparedStatement(
  'open-list',
  {
    row: { id: 'text', name: 'text', fields: '_text', capacity: 'int4?', hasSignals: 'bool' },
    parameters: { accountId: 'text', id: 'text' },
  },
  `select l.id, l.name, l.fields, ${contactsLeft(':accountId')} as capacity,
     exists (select from address_findings where account_id = :accountId) as "hasSignals"
   from contact_lists l where l.account_id = :accountId and l.id = :id`,
)

/**
 * Reads a list to write contacts into. Does not lock it: if it is deleted meanwhile, counting its rows fails
 * (contacts/write/write.count.ts). Throws Problem `not_found`, as `requireList`.
 */
export const openList = async ({ sql, accountId }: Pick<Work, 'sql' | 'accountId'>, id: string): Promise<OpenList> => {
  const [list] = await sql(readOpenList, { accountId, id })
  if (!list) throw notFound('There is no such list')
  return list
}

/** Compares texts by code units: for email addresses and ids, the order of the database's keys. */
export const byText = (a: string, b: string): number => (a < b ? -1 : 1)

/** A write with its fields serialised once. */
export interface Draft extends ContactWrite {
  text: string
}

/** The writes in groups, each in the order of the addresses. */
export interface Classified {
  /** New to the account. */
  fresh: Draft[]
  /** They are in the account, but not in the list. */
  known: Draft[]
  /** They are in the list, with fields that the write changes, according to a read without locks. */
  members: Draft[]
  /** They are in the list, with the same fields. */
  same: Draft[]
  /** Verification results to replace, of addresses of the account. */
  verifications: { email: string; status: VerificationResult['status']; reasons: string[] }[]
  /** The verification result of each address, with its signals. */
  verified: ReadonlyMap<string, VerificationResult>
}

/** Returns whether a result replaces the stored one. An inconclusive result does not; an equal one does after a day. */
const isReplacing = (verification: VerificationResult, held: VerificationResult | null, isOld: boolean): boolean => {
  if (held === null) return true
  if (isInconclusive(verification)) return false
  return isOld || verification.status !== held.status || verification.reasons.join() !== held.reasons.join()
}

const valid: VerificationResult = { status: 'valid', reasons: [] }

/** Returns the verification results with the signals of their addresses added. */
const joinSignals = (
  verifications: ReadonlyMap<string, VerificationResult>,
  findings: Probed['findings'],
): ReadonlyMap<string, VerificationResult> => {
  if (findings === null) return verifications
  const joined = new Map(verifications)
  for (const [email, shown] of Object.entries(findings)) {
    const verification = verifications.get(email)
    if (verification) joined.set(email, resultOf([...verification.reasons, ...shown]))
  }
  return joined
}

const probe = async (
  { sql, accountId, now }: Work,
  listId: string,
  drafts: readonly Draft[],
  verifications: ReadonlyMap<string, VerificationResult>,
): Promise<Classified> => {
  const emails = drafts.map(({ email }) => email)
  const fields = joinFields(drafts.map(({ text }) => text))
  const [row] = await sql(probeContacts, { accountId, listId, emails, fields, now })
  const { kinds, verifications: held, findings } = row!
  const verified = joinSignals(verifications, findings)
  const heldAt = new Map((held ?? []).map((verification) => [verification[0], verification]))
  const classified: Classified = { fresh: [], known: [], members: [], same: [], verifications: [], verified }
  const groups: Record<string, Draft[]> = {
    n: classified.fresh,
    k: classified.known,
    m: classified.members,
    s: classified.same,
  }
  for (const [place, draft] of drafts.entries()) {
    const kind = kinds[place]!
    groups[kind]!.push(draft)
    const verification = kind === 'n' ? undefined : verified.get(draft.email)
    if (!verification) continue
    const [, status, reasons, isOld] = heldAt.get(place) ?? [place, valid.status, valid.reasons, false]
    const before = status === null ? null : { status, reasons: reasons ?? [] }
    if (isReplacing(verification, before, isOld)) classified.verifications.push({ email: draft.email, ...verification })
  }
  return classified
}

/** Returns the number of rows that the write adds to the list. */
const addedBy = ({ fresh, known }: Classified): number => fresh.length + known.length

/** Classifies all writes as new to the account, without the lookup (contacts/write/new-addresses.ts). */
const assumeNew = async (
  { sql, accountId }: Work,
  { hasSignals }: OpenList,
  drafts: Draft[],
  verifications: ReadonlyMap<string, VerificationResult>,
): Promise<Classified> => {
  const found = { fresh: drafts, known: [], members: [], same: [], verifications: [] }
  if (!hasSignals) return { ...found, verified: verifications }
  const verified = [...verifications].map(([email, verification]) => ({ accountId, email, ...verification }))
  const joined = await withSignals(sql, verified)
  return { ...found, verified: new Map(joined.map((verification) => [verification.email, verification])) }
}

/**
 * Classifies the writes. `refused` are the last of the new addresses, if the plan's contact limit does not allow all of them. May
 * take the account's ticket, after `turn`.
 */
export const classify = async (
  work: Work,
  list: OpenList,
  writes: readonly ContactWrite[],
  verifications: ReadonlyMap<string, VerificationResult>,
  turn: () => Promise<void>,
): Promise<{ found: Classified; refused: ContactWrite[] }> => {
  const { id: listId, capacity: seen } = list
  const drafts = writes
    .map(({ email, fields }): Draft => ({ email, fields, text: JSON.stringify(fields) }))
    .sort((a, b) => byText(a.email, b.email))
  const mustQueue = isQueued(work)
  if (!mustQueue && areLikelyNew(listId, drafts.length) && hasAmpleCapacity(seen, drafts.length))
    return { found: await assumeNew(work, list, drafts, verifications), refused: [] }
  const found = await probe(work, listId, drafts, verifications)
  noteWrite(listId, { addresses: drafts.length, fresh: found.fresh.length })
  const addContacts = addedBy(found)
  if (found.fresh.length === 0 && !(mustQueue && addContacts > 0)) return { found, refused: [] }
  const { allowed, hasTicket } = await reserveCapacity(work, found.fresh.length, { seen, turn, isQueued: mustQueue })
  // Earlier holders of the ticket may have added the same addresses.
  const { fresh, ...others } = hasTicket ? await probe(work, listId, drafts, verifications) : found
  if (mustQueue && addedBy({ fresh, ...others }) < addContacts) noteContention(work.accountId)
  if (fresh.length <= allowed) return { found: { ...others, fresh }, refused: [] }
  const isFresh = new Set(fresh.map(({ email }) => email))
  const refused = writes.filter(({ email }) => isFresh.has(email)).slice(allowed)
  const isRefused = new Set(refused.map(({ email }) => email))
  return { found: { ...others, fresh: fresh.filter(({ email }) => !isRefused.has(email)) }, refused }
}
