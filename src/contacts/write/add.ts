/*
 * Inserts contacts without `on conflict`: races for the same new address are rare, and a guard would cost all writes. A duplicate is a
 * `SerializationConflict`: the unit of work runs again and finds the address (contention.ts says what happens if that repeats). The
 * insert is not joined with the lookup: one statement for both took 4 % longer for new data, and 12 % less for identical data
 * (2026-11-22).
 */

import { emailDomain } from '../../lib/email.ts'
import { newId } from '../../lib/ids.ts'
import { isDuplicate, SerializationConflict } from '../../store/database.ts'
import type { Work } from '../../store/work.ts'
import { type Contact, viewContact } from '../contacts.view.ts'
import type { VerificationResult } from '../verification/result.ts'
import type { Classified, Draft, OpenList } from './classify.ts'
import { noteKnownAddress } from './new-addresses.ts'
import { addContacts, joinContacts, joinFields } from './write.statement.ts'

/** Returns the status of the contact to add for an address. */
export type StatusOf = (email: string) => Contact['status']

/** A contact whose address is new to the account. */
export interface NewContact extends Draft {
  rowId: string
  status: Contact['status']
  /** It is undefined if the address was not verified. */
  verification: VerificationResult | undefined
}

/** Turns a duplicate into a `SerializationConflict`: another transaction has added the address, or it was wrongly assumed to be new. */
const asConflict = async (listId: string, inserted: Promise<unknown>): Promise<void> => {
  try {
    await inserted
  } catch (error) {
    if (!isDuplicate(error)) throw error
    noteKnownAddress(listId)
    throw new SerializationConflict('An address exists already')
  }
}

/** Returns the new contacts in the order of their addresses. Their row ids ascend, so that both indexes of contacts grow at their end. */
const newContactsOf = ({ newAddresses, verified }: Classified, nowMs: number, statusOf: StatusOf): NewContact[] => {
  const rowIds = newAddresses.map(() => newId('row', nowMs)).sort()
  return newAddresses.map((draft, i) => ({
    ...draft,
    rowId: rowIds[i]!,
    status: statusOf(draft.email),
    verification: verified.get(draft.email),
  }))
}

/** Returns the domain of each address. Each domain is computed once. */
const domainsOf = (emails: readonly string[]): string[] => {
  const domains = new Map<string, string>()
  return emails.map((email) =>
    domains.getOrInsertComputed(email.slice(email.lastIndexOf('@')), () => emailDomain(email) ?? ''),
  )
}

/** Inserts addresses that are new to the account, and their contacts. Throws `SerializationConflict` if one of them exists by now. */
export const addNewAddresses = async (
  { sql, accountId, now }: Work,
  listId: string,
  found: Classified,
  statusOf: StatusOf,
): Promise<NewContact[]> => {
  const added = newContactsOf(found, now.getTime(), statusOf)
  const emails = added.map(({ email }) => email)
  const inserted = sql(addContacts, {
    accountId,
    listId,
    emails,
    rowIds: added.map(({ rowId }) => rowId),
    domains: domainsOf(emails),
    results: added.map(({ verification }) => verification?.status ?? null),
    reasons: added.map(({ verification }) => verification?.reasons.join(' ') ?? null),
    fields: joinFields(added.map(({ text }) => text)),
    statuses: added.map(({ status }) => status),
    now,
  })
  await asConflict(listId, inserted)
  return added
}

/** Returns the added contacts as a read would return them. */
export const viewAdded = (
  { now }: Work,
  { id: listId, name: listName, fields: listFields }: OpenList,
  added: readonly NewContact[],
): Contact[] =>
  added.map(({ email, fields, rowId, status, verification }) =>
    viewContact({
      listId,
      listName,
      listFields,
      rowId,
      email,
      fields,
      status,
      verificationStatus: verification?.status ?? null,
      verificationReasons: verification?.reasons ?? null,
      verifiedAt: verification ? now : null,
      createdAt: now,
      updatedAt: now,
    }),
  )

/** Inserts locked addresses of the account into the list. Throws `SerializationConflict` if one of them is in the list, or deleted, by now. */
export const addNewMembers = (
  { sql, accountId, now }: Work,
  listId: string,
  newMembers: readonly Draft[],
  rowIds: ReadonlyMap<string, string>,
  statusOf: StatusOf,
): Promise<void> => {
  const contacts = newMembers.map(({ email, fields }) => {
    const rowId = rowIds.get(email)
    if (rowId === undefined) throw new SerializationConflict('An address was removed meanwhile')
    return { email, fields, rowId, status: statusOf(email) }
  })
  return asConflict(listId, sql(joinContacts, { accountId, listId, contacts: JSON.stringify(contacts), now }))
}
