import { missing } from '../lib/problem.ts'
import type { HeldPart, Work } from '../store/work.ts'
import { isHeld } from './contacts.held.ts'
import { type ContactListView, findList } from './contacts.lists.ts'

/*
 * An address goes with its last list, and the account's count with it. Each removal locks the addresses first and looks
 * in a second statement, whose snapshot sees the lists that they joined meanwhile: a writer that adds a known address to
 * a list share-locks it, so it comes wholly before or wholly after.
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

export interface Removal {
  /** Contacts (rows in lists) that go. */
  contacts: number
  /** Addresses that are in no other list, and so leave the account. */
  addresses: number
}

const deleteOrphans = `
  with gone as (
    delete from contacts where account_id = $1 and list_id = $2 returning email
  ), orphans as (
    delete from addresses a using gone g where a.account_id = $1 and a.email = g.email
      and not exists (select from contacts c where c.account_id = $1 and c.email = g.email and c.list_id <> $2)
    returning 1
  ), counted as (
    update accounts set contact_count = contact_count - n.rows from (select count(*)::int as rows from orphans) n
    where id = $1 and n.rows > 0
  )
  select (select count(*) from gone) as contacts, (select count(*) from orphans) as addresses`

const countOrphans = `
  select count(*) as contacts, count(*) filter (
    where not exists (select from contacts o where o.account_id = $1 and o.email = c.email and o.list_id <> $2)
  ) as addresses
  from contacts c where c.account_id = $1 and c.list_id = $2`

/** Deletes a list (id or name) with its contacts; `dryRun` only counts. Throws Problem `missing`. No event fires. */
export const deleteList = async (
  work: Work,
  ref: string,
  { dryRun }: { dryRun: boolean },
): Promise<Removal & { list: ContactListView }> => {
  const { sql, accountId } = work
  const list = await findList(work, ref)
  if (dryRun) return { list, ...(await sql<Removal>(countOrphans, [accountId, list.id]))[0]! }
  // No contact can come any more: who adds one locks this row first.
  await sql('select 1 from contact_lists where account_id = $1 and id = $2 for update', [accountId, list.id])
  await sql(
    `select 1 from (
       select a.email from contacts c join addresses a on a.account_id = c.account_id and a.email = c.email
       where c.account_id = $1 and c.list_id = $2 order by a.email for update of a
     ) locked limit 1`,
    [accountId, list.id],
  )
  const [removal] = await sql<Removal>(deleteOrphans, [accountId, list.id])
  await sql('delete from contact_lists where account_id = $1 and id = $2', [accountId, list.id])
  await tellRemoved(work, { listId: list.id })
  return { list, ...removal! }
}

/** What `eraseContact` removes, in rows. */
export interface Erasure {
  email: string
  contacts: number
  rejects: number
}

const erase = `
  with gone as (
    delete from contacts where account_id = $1 and email = $2 returning list_id, row_id
  ), address as (
    delete from addresses where account_id = $1 and email = $2 returning 1
  ), shown as (
    delete from address_findings where account_id = $1 and email = $2
  ), rejected as (
    delete from import_rejects where account_id = $1 and lower(trim(email)) = $2 returning 1
  ), counted as (
    update accounts set contact_count = contact_count - 1 where id = $1 and exists (select from address)
  ), tallied as (
    update contact_lists l set row_count = row_count - 1, updated_at = $3 from gone where l.id = gone.list_id
  )
  select (select count(*) from gone) as contacts, (select count(*) from rejected) as rejects,
    (select min(row_id) from gone) as "rowId"`

const countErasure = `
  select (select count(*) from contacts where account_id = $1 and email = $2) as contacts,
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
  const { sql, accountId, now } = work
  if (!dryRun) await sql('select 1 from addresses where account_id = $1 and email = $2 for update', [accountId, email])
  type Counts = Omit<Erasure, 'email'> & { rowId?: string | null }
  const [found] = dryRun
    ? await sql<Counts>(countErasure, [accountId, email])
    : await sql<Counts>(erase, [accountId, email, now])
  if (!found || (found.contacts + found.rejects === 0 && !(await isHeld(heldAbout, work, email))))
    throw missing(`There is no contact ${email}`)
  const { rowId, ...counts } = found
  if (!dryRun) await tellRemoved(work, { email, ...(rowId && { rowId }) })
  return { email, ...counts }
}
