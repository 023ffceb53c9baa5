import { missing } from '../lib/problem.ts'
import type { HeldPart, Work } from '../store/work.ts'
import { countContacts } from './contacts.count.ts'
import { isHeld } from './contacts.held.ts'

/*
 * An address goes with its last list, and the account's count with it. Each removal locks the addresses first and looks
 * in a second statement, whose snapshot sees the lists that they joined meanwhile: a writer that adds a known address to
 * a list share-locks it, so it comes wholly before or wholly after. Contacts go in the order of their lists.
 */

/** What was removed: a whole list, an address from every list, or the address from the list. */
export interface Removed {
  listId?: string
  email?: string
  /** That of the address, where one is named. */
  rowId?: string
}

/** Tells the features that keep contacts in mind. No event: removals have none. */
export const tellRemoved = async (work: Work, removed: Removed): Promise<void> => {
  for (const listener of work.listeners) await listener.contactsRemoved?.(work, removed)
}

/** Locks an address before what it has, and gives its row id; null where the account has none. */
export const lockAddress = async ({ sql, accountId }: Work, email: string): Promise<string | null> => {
  const [row] = await sql<{ rowId: string }>(
    'select row_id as "rowId" from addresses where account_id = $1 and email = $2 for update',
    [accountId, email],
  )
  return row?.rowId ?? null
}

/** What `eraseContact` removes, in rows. */
export interface Erasure {
  email: string
  contacts: number
  rejects: number
}

// Contacts before rejects and findings, and those before the counters, which come last in the unit of work.
const lockMemberships = `
  select list_id as "listId", exists (select from contact_lists where id = list_id) as "isListed"
  from contacts where account_id = $1 and row_id = $2 order by list_id for update`

const erase = `
  with gone as (
    delete from contacts where account_id = $1 and row_id = $3
  ), address as (
    delete from addresses where account_id = $1 and email = $2 and row_id = $3 returning 1
  ), shown as (
    delete from address_findings where account_id = $1 and email = $2
  ), rejected as (
    delete from import_rejects where account_id = $1 and lower(trim(email)) = $2 returning 1
  )
  select (select count(*) from address) as addresses, (select count(*) from rejected) as rejects`

const countErasure = `
  select (
      select count(*) from contacts c join contact_lists l on l.id = c.list_id
      where c.account_id = $1 and c.row_id = (select row_id from addresses where account_id = $1 and email = $2)
    ) as contacts,
    (select count(*) from import_rejects where account_id = $1 and lower(trim(email)) = $2) as rejects`

/**
 * Removes a normalised address from every list, with its verdict and its place in kept import rejects; `dryRun` only
 * counts. Its journey runs end; its deals and messages stay, without the address. The access log stays: it shows who read; so
 * do suppressions. Throws Problem `missing` where there is nothing to erase: in no list, and in none of `heldAbout` either.
 */
export const eraseContact = async (
  work: Work,
  email: string,
  { dryRun, heldAbout = [] }: { dryRun: boolean; heldAbout?: readonly HeldPart[] },
): Promise<Erasure> => {
  const { sql, accountId } = work
  const demandSome = async (counts: Omit<Erasure, 'email'>) => {
    if (counts.contacts + counts.rejects === 0 && !(await isHeld(heldAbout, work, email)))
      throw missing(`There is no contact ${email}`)
  }
  if (dryRun) {
    const [counts] = await sql<Omit<Erasure, 'email'>>(countErasure, [accountId, email])
    await demandSome(counts!)
    return { email, ...counts! }
  }
  const rowId = await lockAddress(work, email)
  const rows = await sql<{ listId: string; isListed: boolean }>(lockMemberships, [accountId, rowId])
  const [gone] = await sql<{ addresses: number; rejects: number }>(erase, [accountId, email, rowId])
  const { addresses, rejects } = gone!
  // A list that is being deleted still has its row for a while, and no one sees it there.
  const counts = { contacts: rows.filter(({ isListed }) => isListed).length, rejects }
  await demandSome(counts)
  await tellRemoved(work, { email, ...(rowId !== null && { rowId }) })
  for (const { listId } of rows) countContacts(work, listId, -1, 0)
  countContacts(work, null, 0, -addresses)
  return { email, ...counts }
}
