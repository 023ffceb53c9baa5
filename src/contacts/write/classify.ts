import { contactsLeft, readContactsLeft } from '../../accounts/accounts.ts'
import { notFound } from '../../lib/problem.ts'
import type { RowOf } from '../../store/column-types.ts'
import { preparedStatement } from '../../store/statement.ts'
import type { AccountSql, Work } from '../../store/work.ts'
import type { ContactWrite } from '../contacts.fields.ts'
import { isInconclusive, resultOf, type VerificationResult } from '../verification/result.ts'
import { withSignals } from '../verification/signals.ts'
import { isQueued, noteContention, takeTicket } from './contention.ts'
import { areLikelyNew, noteWrite } from './new-addresses.ts'
import { joinFields, type Probed, probeContacts } from './write.statement.ts'

/* The first part of a write: looks up which addresses the account and the list already have. Nothing is written yet. */

const openListTypes = {
  id: 'text',
  name: 'text',
  fields: '_text',
  /** Contacts that the account's plan had left. It is null if there is no limit. */
  capacity: 'int4?',
  /** Whether any address of the account has a signal. */
  hasSignals: 'bool',
} as const

/** A list to write contacts into. */
export type OpenList = RowOf<typeof openListTypes>

const readOpenList = preparedStatement(
  'open-list',
  { row: openListTypes, parameters: { accountId: 'text', id: 'text' } },
  `select l.id, l.name, l.fields, ${contactsLeft(':accountId')} as capacity,
     exists (select from address_findings where account_id = :accountId) as "hasSignals"
   from contact_lists l where l.account_id = :accountId and l.id = :id`,
)

/**
 * Reads a list to write contacts into. Does not lock it: if it is deleted meanwhile, counting its rows fails
 * (contacts/write/write.count.ts). Throws Problem `not_found`, as `requireList`.
 */
export const openList = async ({ sql, accountId }: AccountSql, id: string): Promise<OpenList> => {
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

/** The writes in groups, according to a read without locks. Each group is in the order of the addresses. */
export interface Classified {
  newAddresses: Draft[]
  /** Addresses of the account that are not in the list yet. */
  newMembers: Draft[]
  /** Contacts of the list whose fields the write changes. */
  changedMembers: Draft[]
  /** Contacts of the list that have these fields already. */
  unchangedMembers: Draft[]
  /** Verification results to replace, of addresses of the account. */
  verifications: { email: string; status: VerificationResult['status']; reasons: string[] }[]
  /** The verification result of each address, with its signals. */
  verified: ReadonlyMap<string, VerificationResult>
}

/** Returns whether a result replaces the stored one. An inconclusive result does not; an equal one does after a day. */
const replaces = (verification: VerificationResult, stored: VerificationResult | null, isOld: boolean): boolean => {
  if (stored === null) return true
  if (isInconclusive(verification)) return false
  return isOld || verification.status !== stored.status || verification.reasons.join() !== stored.reasons.join()
}

/** Returns the verification results with the signals of their addresses added. */
const joinSignals = (
  verifications: ReadonlyMap<string, VerificationResult>,
  findings: Probed['findings'],
): ReadonlyMap<string, VerificationResult> => {
  if (findings === null) return verifications
  const joined = new Map(verifications)
  for (const [email, signals] of Object.entries(findings)) {
    const verification = verifications.get(email)
    if (verification) joined.set(email, resultOf([...verification.reasons, ...signals]))
  }
  return joined
}

const noDrafts = () => ({ newAddresses: [], newMembers: [], changedMembers: [], unchangedMembers: [] })

/** Looks up the addresses and their contacts in the list. */
const probe = async (
  { sql, accountId, now }: Work,
  listId: string,
  drafts: readonly Draft[],
  verifications: ReadonlyMap<string, VerificationResult>,
): Promise<Classified> => {
  const emails = drafts.map(({ email }) => email)
  const fields = joinFields(drafts.map(({ text }) => text))
  const [row] = await sql(probeContacts, { accountId, listId, emails, fields, now })
  const { kinds, verifications: stored, findings } = row!
  const verified = joinSignals(verifications, findings)
  const storedAt = new Map((stored ?? []).map((result) => [result[0], result]))
  const classified: Classified = { ...noDrafts(), verifications: [], verified }
  const groups: Record<string, Draft[]> = {
    n: classified.newAddresses,
    k: classified.newMembers,
    m: classified.changedMembers,
    s: classified.unchangedMembers,
  }
  for (const [place, draft] of drafts.entries()) {
    const kind = kinds[place]!
    groups[kind]!.push(draft)
    const verification = kind === 'n' ? undefined : verified.get(draft.email)
    if (!verification) continue
    // The lookup leaves out results that are `valid` and recent.
    const [, status, reasons, isOld] = storedAt.get(place) ?? [place, 'valid', [], false]
    const before = status === null ? null : { status, reasons: reasons ?? [] }
    if (replaces(verification, before, isOld)) classified.verifications.push({ email: draft.email, ...verification })
  }
  return classified
}

/** Near the plan limit (fewer spare contacts than this after the write) writers are serialised. */
const ampleCapacity = 5_000

/**
 * Returns whether new addresses fit without the account's ticket, if the plan had `capacity` contacts left a moment ago. If the
 * capacity is gone in the end, `countContacts` runs the unit of work again.
 */
const hasAmpleCapacity = (capacity: number | null, added: number): boolean =>
  capacity === null || capacity >= added + ampleCapacity

/** Returns the number of contacts that the write adds to the list. */
const countAdded = ({ newAddresses, newMembers }: Classified): number => newAddresses.length + newMembers.length

/** Classifies all writes as new to the account, without the lookup (contacts/write/new-addresses.ts). */
const assumeNew = async (
  { sql, accountId }: Work,
  { hasSignals }: OpenList,
  drafts: Draft[],
  verifications: ReadonlyMap<string, VerificationResult>,
): Promise<Classified> => {
  const found = { ...noDrafts(), newAddresses: drafts, verifications: [] }
  if (!hasSignals) return { ...found, verified: verifications }
  const verified = [...verifications].map(([email, verification]) => ({ accountId, email, ...verification }))
  const joined = await withSignals(sql, verified)
  return { ...found, verified: new Map(joined.map((verification) => [verification.email, verification])) }
}

/** Refuses the last of the new addresses if the plan does not allow all of them. */
const refuseBeyond = (
  found: Classified,
  writes: readonly ContactWrite[],
  allowed: number,
): { found: Classified; refused: ContactWrite[] } => {
  const areNew = new Set(found.newAddresses.map(({ email }) => email))
  const refused = writes.filter(({ email }) => areNew.has(email)).slice(allowed)
  const areRefused = new Set(refused.map(({ email }) => email))
  const newAddresses = found.newAddresses.filter(({ email }) => !areRefused.has(email))
  return { found: { ...found, newAddresses }, refused }
}

/**
 * Classifies the writes. `refused` are the last of the new addresses, if the plan's contact limit does not allow all of them. May
 * take the account's ticket, after `waitForTurn`.
 */
export const classify = async (
  work: Work,
  list: OpenList,
  writes: readonly ContactWrite[],
  verifications: ReadonlyMap<string, VerificationResult>,
  waitForTurn: () => Promise<void>,
): Promise<{ found: Classified; refused: ContactWrite[] }> => {
  const { id: listId, capacity } = list
  const drafts = writes
    .map(({ email, fields }): Draft => ({ email, fields, text: JSON.stringify(fields) }))
    .sort((a, b) => byText(a.email, b.email))
  const mustQueue = isQueued(work)
  if (!mustQueue && areLikelyNew(listId, drafts.length) && hasAmpleCapacity(capacity, drafts.length))
    return { found: await assumeNew(work, list, drafts, verifications), refused: [] }
  const found = await probe(work, listId, drafts, verifications)
  const toAdd = found.newAddresses.length
  noteWrite(listId, { addresses: drafts.length, added: toAdd })
  const needsTicket = mustQueue ? countAdded(found) > 0 : toAdd > 0 && !hasAmpleCapacity(capacity, toAdd)
  if (!needsTicket) return { found, refused: [] }
  await waitForTurn()
  await takeTicket(work)
  const allowed = await readContactsLeft(work)
  // Earlier holders of the ticket may have added the same addresses.
  const current = await probe(work, listId, drafts, verifications)
  if (mustQueue && countAdded(current) < countAdded(found)) noteContention(work.accountId)
  return refuseBeyond(current, writes, allowed)
}
