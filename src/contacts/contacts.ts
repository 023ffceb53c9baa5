/*
 * write/ applies and publishes changes (classify.ts, write-contacts.ts), with capacity, contention and removals.
 * verification/ checks addresses and domains, imports/ reads files, also exports of other products (vendors.ts).
 * contacts.rows.ts has what the SQL of other features needs. The adapters of this folder import its files themselves.
 */

import type { AccountSql, Work } from '../store/work.ts'
import type { TimelinePart } from './contacts.timeline.ts'
import type { OptOut } from './imports/batch.ts'

/* Contacts: what other features read of them. */

export { recordReads } from './access-log.ts'
export { EmailInput, type Fields, normalizeFields } from './contacts.fields.ts'
export {
  listContacts,
  type Narrow,
  type Recipient,
  readContacts,
  readContactsOf,
  readRecipients,
  readRecipientsIn,
  showContact,
  verificationReasons,
  withSuppression,
} from './contacts.find.ts'
export { contactsByDay, lockLeaving, tallyingLeft } from './contacts.stats.ts'
export { readTimeline, type TimelinePart, timelinePart } from './contacts.timeline.ts'
export type { Contact } from './contacts.view.ts'

/* Writes: adding, changing, locking and removing contacts in a unit of work. */

export { ticketFirst, writeFairly } from './write/contention.ts'
export { type ContactUpdate, joinList, updateContacts } from './write/known.ts'
export { type ContactPlace, locateContact, lockContact, lockContacts, newestListsOf, rowIdsOf } from './write/locate.ts'
export { holdOffErasure, lockRecipient, shareRecipients } from './write/recipient.ts'
export { eraseContact, leaveList, leavingEffects } from './write/remove.ts'
export { addColumns } from './write/write.count.ts'
export { addLead, confirmLead, type LeadCause } from './write/write.leads.ts'
export { writeContacts } from './write/write-contacts.ts'

/* Lists of contacts, and their columns. */

export { countActive, createList, extendColumns, findList, listLists, requireList } from './lists/lists.ts'

/* Verification of addresses, and the signals that emails add to it. */

export { addAddressSignal, removeAddressSignals } from './verification/signals.ts'
export { verifyAddresses } from './verification/verify.ts'

/* Imports: how exports of other products are read, for imports of suppressions. */

export type { OptOut } from './imports/batch.ts'
export type { Table } from './imports/imports.table.ts'

// These load the CSV parser on their first call, so that the threads of jobs stay small.
type Checkpoints = typeof import('./imports/checkpoint.ts')
type Tables = typeof import('./imports/imports.table.ts')
type Preparation = typeof import('./imports/prepare.ts')
type Rejects = typeof import('./imports/rejects.ts')

/** Calls `openTable` of contacts/imports/imports.table.ts. */
export const openTable = async (...given: Parameters<Tables['openTable']>): ReturnType<Tables['openTable']> =>
  (await import('./imports/imports.table.ts')).openTable(...given)

/** Calls `originOf` of contacts/imports/prepare.ts. */
export const originOf = async (
  ...given: Parameters<Preparation['originOf']>
): Promise<ReturnType<Preparation['originOf']>> => (await import('./imports/prepare.ts')).originOf(...given)

/** Calls `listImports` of contacts/imports/checkpoint.ts. */
export const listImports = async (
  ...given: Parameters<Checkpoints['listImports']>
): ReturnType<Checkpoints['listImports']> => (await import('./imports/checkpoint.ts')).listImports(...given)

/** Returns the products whose exports can be read. */
export const productNames = async (): Promise<readonly string[]> => (await import('./imports/vendors.ts')).vendorNames

/** Calls `checkRejectsFile` of contacts/imports/rejects.ts. */
export const checkRejectsFile = async (...given: Parameters<Rejects['checkRejectsFile']>): Promise<void> =>
  (await import('./imports/rejects.ts')).checkRejectsFile(...given)

/** Calls `createReasonCounts` of contacts/imports/rejects.ts. */
export const createReasonCounts = async (): Promise<ReturnType<Rejects['createReasonCounts']>> =>
  (await import('./imports/rejects.ts')).createReasonCounts()

/** Calls `rejectsText` of contacts/imports/rejects.ts. */
export const rejectsText = async (...given: Parameters<Rejects['rejectsText']>): Promise<string> =>
  (await import('./imports/rejects.ts')).rejectsText(...given)

/** What imports of other products' exports, lists and exports need of suppressions, which a later feature has. */
export interface Suppressing {
  /** Suppresses addresses since the times when they opted out. Those that are suppressed for that reason stay as they are. */
  suppress(work: Work, optOuts: readonly OptOut[]): Promise<void>
  /** Addresses leave kinds of email, by the name of each kind. */
  leave(work: Work, left: ReadonlyMap<string, ReadonlySet<string>>): Promise<void>
  /** Returns those of the normalised addresses that are suppressed for any reason, except those that have only left topics. */
  suppressedOf(reader: AccountSql, emails: readonly string[]): Promise<ReadonlySet<string>>
  /**
   * Returns why normalised addresses get no marketing. `doubtful` are those of them that verification rejected, or that may be
   * active in no list.
   */
  reasonsOf(
    reader: AccountSql,
    emails: readonly string[],
    doubtful: readonly string[],
  ): Promise<ReadonlyMap<string, string>>
}

declare module '../store/work.ts' {
  interface Settings {
    /** How long the access log is kept, in calendar months. */
    readonly accessLogRetentionMonths: number
    /** How long ended imports, and their rejected rows, are kept. */
    readonly importRetentionDays: number
    readonly rejectRetentionDays: number
  }
  interface App {
    /** The first call of a process loads it. */
    suppressing(): Promise<Suppressing>
    /** What the features know about the past of an address. The first call of a process loads it. */
    timelineParts(): Promise<readonly TimelinePart[]>
  }
  interface Listener {
    /** Addresses will be removed from one list. Called before their locks, for rows that are locked before contacts. */
    contactsLeaving?(work: Work, leaving: { listId: string; emails: readonly string[] }): Promise<void>
    /** Addresses were removed from one list, also because it is deleted. They may be in others. */
    contactsLeft?(
      work: Work,
      left: { listId: string; contacts: readonly { email: string; rowId: string }[] },
    ): Promise<void>
    /** Contacts were removed: those of a list (`listId`), of an address (`email`), or one contact (both). `rowId` is the address's. */
    contactsRemoved?(work: Work, removed: { listId?: string; email?: string; rowId?: string }): Promise<void>
    /** Addresses were removed from the account: they are in no list any more. It is called with their locks. */
    addressesLeft?(work: Work, emails: readonly string[]): Promise<void>
    /** Contacts that were pending have become active; called in the transaction that confirms them. */
    contactsActivated?(work: Work, contacts: readonly { listId: string; rowId: string; email: string }[]): Promise<void>
  }
}
