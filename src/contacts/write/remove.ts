import { addressPattern } from '../../lib/erased.ts'
import { noSuch } from '../../lib/problem.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import type { PersonalDataPart, Work } from '../../store/work.ts'
import { stateKey } from '../../store/work-state.ts'
import { hasPersonalData, isRejectNaming } from '../contacts.personal-data.ts'
import { notifyLeft } from '../contacts.stats.ts'
import { lockErasure } from './recipient.ts'
import { countContacts } from './write.count.ts'

/*
 * An address is deleted with its last contact, and the account's counter changes with it. Each removal first locks the addresses.
 * A second statement, whose snapshot sees the lists that they joined meanwhile, then decides whether they are deleted: a writer that adds a
 * known address to a list share-locks it, so it runs entirely before or entirely after. Contacts are locked in the order of their lists.
 */

/** A removal: of a whole list (`listId`), of an address from every list (`email`), or of an address from one list (both). */
interface Removed {
  listId?: string
  email?: string
  /** Row id of the address, if it has one. */
  rowId?: string
}

export interface Removal {
  /** Removed contacts (rows in lists). */
  contacts: number
  /** The number of removed addresses: those that are in no other list. */
  addresses: number
}

/** What other features changed because an address left one list; they add to it. */
interface LeavingEffects {
  /** Deals that name another list now. */
  deals: { id: string; title: string; listId: string }[]
  /** Journey runs that ended. */
  runs: string[]
}

export const leavingEffects = stateKey((): LeavingEffects => ({ deals: [], runs: [] }))

/** Notifies features of addresses that will leave a list, before their locks. */
export const notifyLeaving = async (work: Work, listId: string, emails: readonly string[]): Promise<void> => {
  for (const listener of await work.listeners()) await listener.contactsLeaving?.(work, { listId, emails })
}

/** Notifies features of contacts that left a list, in the same transaction. */
export const notifyLeftList = async (
  work: Work,
  listId: string,
  contacts: readonly { email: string; rowId: string }[],
): Promise<void> => {
  for (const listener of await work.listeners()) await listener.contactsLeft?.(work, { listId, contacts })
}

/** Notifies features that refer to contacts, in the same transaction. Removals fire no event. */
export const notifyRemoved = async (work: Work, removed: Removed): Promise<void> => {
  for (const listener of await work.listeners()) await listener.contactsRemoved?.(work, removed)
}

const lockRowId = statement(
  'lock-address',
  { row: { rowId: 'text' }, parameters: { accountId: 'text', email: 'text' } },
  'select row_id as "rowId" from addresses where account_id = :accountId and email = :email for update',
)

/** Locks an address, before its contacts, and returns its row id, or null if the account does not have it. */
const lockAddress = async ({ sql, accountId }: Work, email: string): Promise<string | null> => {
  const [row] = await sql(lockRowId, { accountId, email })
  return row?.rowId ?? null
}

/** Number of rows that `eraseContact` removes. */
interface Erasure {
  email: string
  contacts: number
  rejects: number
}

// Lock order: contacts, then rejects and signals, then the counters at the end of the unit of work.
const lockMemberships = statement(
  'lock-memberships',
  { row: { listId: 'text', isListed: 'bool' }, parameters: { accountId: 'text', rowId: 'text?' } },
  `select list_id as "listId", exists (select from contact_lists where id = list_id) as "isListed"
   from contacts where account_id = :accountId and row_id = :rowId order by list_id for update`,
)

const erase = statement(
  'erase-contact',
  {
    row: { addresses: 'int8', rejects: 'int8' },
    parameters: { accountId: 'text', email: 'text', rowId: 'text?', pattern: 'text' },
  },
  `with gone as (
     delete from contacts where account_id = :accountId and row_id = :rowId
   ), address as (
     delete from addresses where account_id = :accountId and email = :email and row_id = :rowId returning 1
   ), shown as (
     delete from address_findings where account_id = :accountId and email = :email
   ), rejected as (
     delete from import_rejects where ${isRejectNaming} returning 1
   )
   select (select count(*) from address) as addresses, (select count(*) from rejected) as rejects`,
)

const countErasure = statement(
  'count-erasure',
  {
    row: { contacts: 'int8', rejects: 'int8' },
    parameters: { accountId: 'text', email: 'text', pattern: 'text' },
  },
  `select (
       select count(*) from contacts c join contact_lists l on l.id = c.list_id
       where c.account_id = :accountId and c.row_id = (select row_id from addresses where account_id = :accountId and email = :email)
     ) as contacts,
     (select count(*) from import_rejects where ${isRejectNaming}) as rejects`,
)

/**
 * Removes a normalised address from every list, with its verification result and its rejected import rows; `dryRun` only counts.
 * Its journey runs end; its deals, messages and events stay, without the address. Suppressions and the access log stay. Throws Problem
 * `not_found` if there is nothing to erase, neither in lists nor in `personalData`.
 */
export const eraseContact = async (
  work: Work,
  email: string,
  { dryRun, personalData = [] }: { dryRun: boolean; personalData?: readonly PersonalDataPart[] },
): Promise<Erasure> => {
  const { sql, accountId } = work
  const requireSome = async (counts: Omit<Erasure, 'email'>) => {
    if (counts.contacts + counts.rejects === 0 && !(await hasPersonalData(personalData, work, email)))
      throw noSuch('contact', email, { hint: 'svc contacts list' })
  }
  if (dryRun) {
    const [counts] = await sql(countErasure, { accountId, email, pattern: addressPattern(email) })
    await requireSome(counts!)
    return { email, ...counts! }
  }
  await lockErasure(work, email)
  const rowId = await lockAddress(work, email)
  const rows = await sql(lockMemberships, { accountId, rowId })
  const [gone] = await sql(erase, { accountId, email, rowId, pattern: addressPattern(email) })
  const { addresses, rejects } = gone!
  // Contacts of a list that is being deleted still exist for a while, but are not visible.
  const counts = { contacts: rows.filter(({ isListed }) => isListed).length, rejects }
  await requireSome(counts)
  await notifyRemoved(work, { email, ...(rowId !== null && { rowId }) })
  if (addresses > 0) await notifyLeft(work, [email])
  for (const { listId } of rows) countContacts(work, listId, -1, 0)
  countContacts(work, null, 0, -addresses)
  return { email, ...counts }
}

const removeContact = preparedStatement(
  'leave-list',
  { row: { addresses: 'int8' }, parameters: { accountId: 'text', rowId: 'text', listId: 'text', email: 'text' } },
  `
  with gone as (
    delete from contacts where account_id = :accountId and row_id = :rowId and list_id = :listId returning 1
  ), orphan as (
    delete from addresses where account_id = :accountId and email = :email and exists (select from gone)
      and not exists (select from contacts where account_id = :accountId and row_id = :rowId and list_id <> :listId)
    returning 1
  )
  select (select count(*) from orphan) as addresses from gone`,
)

/**
 * Removes a normalised address from one list. An address that is in no other list is deleted. Returns how many contacts and
 * addresses this removed; null if the address is not in the list. It fires no event. `leavingEffects` has what else changed.
 */
export const leaveList = async (work: Work, listId: string, email: string): Promise<Removal | null> => {
  const { sql, accountId } = work
  await notifyLeaving(work, listId, [email])
  const rowId = await lockAddress(work, email)
  if (rowId === null) return null
  const [gone] = await sql(removeContact, { accountId, rowId, listId, email })
  if (!gone) return null
  await notifyLeftList(work, listId, [{ email, rowId }])
  await notifyRemoved(work, { listId, email, rowId })
  if (gone.addresses > 0) await notifyLeft(work, [email])
  countContacts(work, listId, -1, -gone.addresses)
  return { contacts: 1, addresses: gone.addresses }
}
