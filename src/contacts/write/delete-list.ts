import { setTimeout as sleep } from 'node:timers/promises'
import { activeAccounts } from '../../accounts/accounts.rows.ts'
import { continueDeletions, type Deletion, defineJob } from '../../store/background.ts'
import { forceIndexOrder } from '../../store/database.ts'
import { statement } from '../../store/statement.ts'
import type { AccountSql, App, Work } from '../../store/work.ts'
import { notifyLeft } from '../contacts.stats.ts'
import { findList } from '../lists/lists.ts'
import { notifyLeaving, notifyLeftList, notifyRemoved, type Removal } from './remove.ts'
import { countContacts } from './write.count.ts'

/*
 * A list may have millions of contacts, and its deletion must not slow down other work. The first transaction moves the list to
 * `deleted_lists`: it is no longer visible, nothing can be added to it, and its name is free. Then the other features are notified, and
 * its contacts are deleted in batches, each in its own transaction. If the process is killed, the same command or the housekeeping
 * continues.
 */

/** Maximum rows for each transaction. */
const batchSize = 1000
/** Pause after a batch, as a multiple of its duration: other accounts have the database meanwhile. */
const pauseFactor = 2

/** A list that is being deleted, or will be. */
interface DeletedList {
  id: string
  name: string
}

const findDeleted = statement(
  'find-deleted-list',
  { row: { id: 'text', name: 'text' }, parameters: { accountId: 'text', ref: 'text' } },
  `select id, name from deleted_lists
   where account_id = :accountId and (id = :ref or name = :ref and not exists (select from contact_lists where account_id = :accountId and name = :ref))
   order by id = :ref desc limit 1`,
)

/** Finds a list by id, else by name, also one whose deletion has begun. Throws Problem `not_found`. */
export const findDeletable = async (work: AccountSql, ref: string): Promise<DeletedList> => {
  const [deleted] = await work.sql(findDeleted, { accountId: work.accountId, ref })
  if (deleted) return deleted
  const { id, name } = await findList(work, ref)
  return { id, name }
}

const countRemoved = statement(
  'count-removal-of-list',
  { row: { contacts: 'int8', addresses: 'int8' }, parameters: { accountId: 'text', listId: 'text' } },
  `select (select count(*) from contacts where account_id = :accountId and list_id = :listId) as contacts, (
     select count(*) from contacts c where c.account_id || '' = :accountId and c.list_id = :listId
       and not exists (select from contacts o where o.account_id = :accountId and o.row_id = c.row_id and o.list_id <> :listId offset 0)
   ) as addresses`,
)

/**
 * Counts what the deletion of a list would remove. `offset 0` makes PostgreSQL look up each contact by key: if it takes the list for
 * empty, because its statistics are older than the account, it would compare all its contacts with each other.
 */
export const countRemoval = async ({ sql, accountId }: AccountSql, listId: string): Promise<Removal> => {
  const [removal] = await sql(countRemoved, { accountId, listId })
  return removal!
}

// A transaction that adds contacts updates the list's row at its end. It either commits before this statement, or finds no list and
// rolls back.
const closeList = statement(
  'close-list',
  { parameters: { accountId: 'text', listId: 'text', now: 'timestamptz' } },
  `with closed as (delete from contact_lists where account_id = :accountId and id = :listId returning id, account_id, name)
   insert into deleted_lists (id, account_id, name, started_at) select id, account_id, name, :now from closed`,
)

// One batch of a list at a time: a second process waits for the batch of the first, then continues after it.
const lockDeletedList = statement(
  'lock-deleted-list',
  { parameters: { accountId: 'text', listId: 'text' } },
  'select from deleted_lists where account_id = :accountId and id = :listId for update',
)

const forgetDeletedList = statement(
  'forget-deleted-list',
  { parameters: { accountId: 'text', listId: 'text' } },
  'delete from deleted_lists where account_id = :accountId and id = :listId',
)

// `|| ''` hides the account from the planner, so that it uses the list's index, which has this order.
const ofList = `account_id || '' = :accountId and list_id = :listId and row_id > :after`
const ofListTypes = { accountId: 'text', listId: 'text', after: 'text' } as const

const readBatch = statement(
  'addresses-of-deleted-list',
  { row: { emails: '_text' }, parameters: ofListTypes },
  `select array(select email from contacts where ${ofList} order by row_id limit ${batchSize}) as emails`,
)

// Locks the addresses in order, before the contacts, as every writer does. A transaction that adds one of them to another list holds
// its lock.
const lockBatch = statement(
  'lock-addresses-of-deleted-list',
  { row: { count: 'int8', last: 'text?' }, parameters: ofListTypes },
  `select count(*) as count, max(row_id) as last from (
     select c.row_id from (
       select * from (select row_id, email from contacts where ${ofList} order by row_id limit ${batchSize}) batch order by email
     ) c cross join lateral (select from addresses where account_id = :accountId and email = c.email for update) a
   ) locked`,
)

const lockContacts = statement(
  'lock-contacts-of-deleted-list',
  { row: { count: 'int8' }, parameters: { ...ofListTypes, last: 'text' } },
  `select count(*) from (
     select from contacts where ${ofList} and row_id <= :last order by email for update
   ) locked`,
)

// A separate statement, whose snapshot sees the lists that the addresses have joined meanwhile.
const deleteBatch = statement(
  'delete-contacts-of-deleted-list',
  {
    row: { emails: '_text', rowIds: '_text', orphans: '_text' },
    parameters: { ...ofListTypes, last: 'text' },
  },
  `with gone as (
     delete from contacts where ${ofList} and row_id <= :last returning email, row_id
   ), orphans as (
     delete from addresses where ctid = any(array(
       select a.row from gone g
       cross join lateral (select ctid as row from addresses where account_id = :accountId and email = g.email limit 1) a
       where not exists (
         select from contacts c where c.account_id = :accountId and c.row_id = g.row_id and c.list_id <> :listId offset 0
       )
     )) returning email
   )
   select array(select email from gone order by row_id) as emails, array(select row_id from gone order by row_id) as "rowIds",
     array(select email from orphans) as orphans`,
)

interface Swept extends Removal {
  /** The last deleted row id. It is null if no contacts are left. */
  last: string | null
}

const sweepBatch = async (work: Work, listId: string, after: string): Promise<Swept> => {
  const { sql, accountId } = work
  const nothing = { contacts: 0, addresses: 0, last: null }
  await sql(forceIndexOrder)
  if ((await sql(lockDeletedList, { accountId, listId })).length === 0) return nothing
  const [batch] = await sql(readBatch, { accountId, listId, after })
  await notifyLeaving(work, listId, batch!.emails)
  const [locked] = await sql(lockBatch, { accountId, listId, after })
  const { last } = locked!
  if (last === null) {
    await sql(forgetDeletedList, { accountId, listId })
    return nothing
  }
  await sql(lockContacts, { accountId, listId, after, last })
  const [removal] = await sql(deleteBatch, { accountId, listId, after, last })
  const { emails, rowIds, orphans } = removal!
  await notifyLeftList(
    work,
    listId,
    emails.map((email, i) => ({ email, rowId: rowIds[i]! })),
  )
  await notifyLeft(work, orphans)
  countContacts(work, null, 0, -orphans.length)
  return { contacts: emails.length, addresses: orphans.length, last }
}

/** Notifies the other features of the deleted list, and deletes its contacts. */
const sweepList = async (
  app: Pick<App, 'work'>,
  accountId: string,
  listId: string,
  { actor, signal, onBatch }: Deletion,
): Promise<Removal & { isDone: boolean }> => {
  const removed = { contacts: 0, addresses: 0 }
  await app.work(accountId, actor, (work) => notifyRemoved(work, { listId }))
  for (let after = ''; !signal?.aborted; ) {
    const startedAt = performance.now()
    const { contacts, addresses, last } = await app.work(accountId, actor, (work) => sweepBatch(work, listId, after))
    removed.contacts += contacts
    removed.addresses += addresses
    if (last === null) return { ...removed, isDone: true }
    after = last
    onBatch?.(removed.contacts)
    if (contacts >= batchSize / 2) await sleep(pauseFactor * (performance.now() - startedAt))
  }
  return { ...removed, isDone: false }
}

/**
 * Deletes a list (id) with its contacts, and returns what this run removed. The list is invisible from the first transaction on.
 * `isDone` is false if `signal` stopped it: the housekeeping or the next run continues. It fires no event.
 */
export const deleteList = async (
  app: Pick<App, 'work'>,
  accountId: string,
  listId: string,
  deletion: Deletion,
): Promise<Removal & { isDone: boolean }> => {
  await app.work(accountId, deletion.actor, ({ sql, now }) => sql(closeList, { accountId, listId, now }))
  return sweepList(app, accountId, listId, deletion)
}

const findUnfinished = statement(
  'find-unfinished-list-deletions',
  { row: { id: 'text', accountId: 'text' }, parameters: { only: 'text?' } },
  `select l.id, l.account_id as "accountId" from deleted_lists l
     join ${activeAccounts} a on a.id = l.account_id where :only::text is null or l.account_id = :only order by l.id`,
)

/** Continues interrupted deletions of lists. If another process is deleting the same list, the two alternate batches. */
export const finishListDeletions = continueDeletions(findUnfinished, (app, { id, accountId }, deletion) =>
  sweepList(app, accountId, id, deletion),
)

export const jobs = [
  defineJob('list deletions', {
    does: 'Continues interrupted deletions of lists',
    runFor: finishListDeletions,
  }),
]
