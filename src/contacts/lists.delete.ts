import { setTimeout as sleep } from 'node:timers/promises'
import { alongAnIndex } from '../store/database.ts'
import type { App, Work } from '../store/work.ts'
import { countContacts } from './contacts.count.ts'
import { findList } from './contacts.lists.ts'
import { tellRemoved } from './contacts.remove.ts'

/*
 * A list may have millions of contacts, and nobody is to feel that they go. The first transaction takes the list itself: it
 * is moved to `leaving_lists`, so that from then on it is in no answer, nothing can be added to it, and its name is free.
 * Then the features hear of it, and its contacts go, a batch at a time, each a transaction of its own. Killed anywhere, the
 * same command or the housekeeping goes on.
 */

/** Rows that one transaction takes. */
const batchSize = 1000
/** After a batch the database is the neighbours' for so many times what it took. */
const restFactor = 2

/** A list that is deleted, or is to be. */
export interface LeavingList {
  id: string
  name: string
}

export interface Removal {
  /** Contacts (rows in lists) that go. */
  contacts: number
  /** Addresses that are in no other list, and so leave the account. */
  addresses: number
}

/** A list by id, else by name; else one whose deletion has begun. Throws Problem `missing`. */
export const findDeletable = async (work: Pick<Work, 'sql' | 'accountId'>, ref: string): Promise<LeavingList> => {
  const [leaving] = await work.sql<LeavingList>(
    `select id, name from leaving_lists
     where account_id = $1 and (id = $2 or name = $2 and not exists (select from contact_lists where account_id = $1 and name = $2))
     order by id = $2 desc limit 1`,
    [work.accountId, ref],
  )
  if (leaving) return leaving
  const { id, name } = await findList(work, ref)
  return { id, name }
}

/** What would go with a list. */
export const countRemoval = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  listId: string,
): Promise<Removal> => {
  const [removal] = await sql<Removal>(
    `select (select count(*) from contacts where account_id = $1 and list_id = $2) as contacts, (
       select count(*) from contacts c where c.account_id || '' = $1 and c.list_id = $2
         and not exists (select from contacts o where o.account_id = $1 and o.row_id = c.row_id and o.list_id <> $2)
     ) as addresses`,
    [accountId, listId],
  )
  return removal!
}

// Who adds a contact counts it at the list's row in the end: it comes wholly before, or finds no list and takes it back.
const close = ({ sql, accountId, now }: Work, listId: string) =>
  sql(
    `with closed as (delete from contact_lists where account_id = $1 and id = $2 returning id, account_id, name)
     insert into leaving_lists (id, account_id, name, started_at) select id, account_id, name, $3 from closed`,
    [accountId, listId, now],
  )

// One at a time sweeps a list: where another does, a batch waits for it, and goes on behind it.
const holdLeaving = 'select 1 from leaving_lists where account_id = $1 and id = $2 for update'

// With the account hidden no index but the list's has its rows in this order.
const ofList = `account_id || '' = $1 and list_id = $2 and row_id > $3`

// The addresses before the contacts, in their order, as every writer. Those who are adding one to another list hold it.
const lockBatch = `
  select count(*) as count, max(row_id) as last from (
    select c.row_id from (
      select * from (select row_id, email from contacts where ${ofList} order by row_id limit ${batchSize}) batch order by email
    ) c cross join lateral (select from addresses where account_id = $1 and email = c.email for update) a
  ) locked`

const lockContacts = `
  select count(*) from (
    select from contacts where ${ofList} and row_id <= $4 order by email for update
  ) locked`

// A statement of its own, whose snapshot sees the lists that the addresses have joined meanwhile.
const deleteBatch = `
  with gone as (
    delete from contacts where ${ofList} and row_id <= $4 returning email, row_id
  ), orphans as (
    delete from addresses where ctid = any(array(
      select a.row from gone g
      cross join lateral (select ctid as row from addresses where account_id = $1 and email = g.email limit 1) a
      where not exists (
        select from contacts c where c.account_id = $1 and c.row_id = g.row_id and c.list_id <> $2 offset 0
      )
    )) returning 1
  )
  select (select count(*) from gone) as contacts, (select count(*) from orphans) as addresses`

interface Swept extends Removal {
  /** The row id up to which all has gone; null: nothing is left. */
  last: string | null
}

const sweepBatch = async (work: Work, listId: string, after: string): Promise<Swept> => {
  const { sql, accountId } = work
  const nothing = { contacts: 0, addresses: 0, last: null }
  await sql(alongAnIndex)
  if ((await sql(holdLeaving, [accountId, listId])).length === 0) return nothing
  const [locked] = await sql<{ count: number; last: string | null }>(lockBatch, [accountId, listId, after])
  const { last } = locked!
  if (last === null) {
    await sql('delete from leaving_lists where account_id = $1 and id = $2', [accountId, listId])
    return nothing
  }
  await sql(lockContacts, [accountId, listId, after, last])
  const [removal] = await sql<Removal>(deleteBatch, [accountId, listId, after, last])
  countContacts(work, null, 0, -removal!.addresses)
  return { ...removal!, last }
}

export interface ListDeletion {
  actor: string
  /** Once aborted, the deletion stops after the batch at work. */
  signal?: AbortSignal
  /** After each batch, with the contacts gone so far in this run. */
  onBatch?(contacts: number): void
}

/** Tells who keeps the list in mind, and takes its contacts: what is left to do once it is closed. */
const sweepList = async (
  app: Pick<App, 'work'>,
  accountId: string,
  listId: string,
  { actor, signal, onBatch }: ListDeletion,
): Promise<Removal & { isDone: boolean }> => {
  const removed = { contacts: 0, addresses: 0 }
  await app.work(accountId, actor, (work) => tellRemoved(work, { listId }))
  for (let after = ''; !signal?.aborted; ) {
    const startedAt = performance.now()
    const { contacts, addresses, last } = await app.work(accountId, actor, (work) => sweepBatch(work, listId, after))
    removed.contacts += contacts
    removed.addresses += addresses
    if (last === null) return { ...removed, isDone: true }
    after = last
    onBatch?.(removed.contacts)
    if (contacts >= batchSize / 2) await sleep(restFactor * (performance.now() - startedAt))
  }
  return { ...removed, isDone: false }
}

/**
 * Deletes a list (id) with its contacts, and gives what has gone in this run. From the first moment it is in no answer.
 * `isDone` is false where `signal` stopped it: the housekeeping goes on, or the next run. No event fires.
 */
export const deleteList = async (
  app: Pick<App, 'work'>,
  accountId: string,
  listId: string,
  deletion: ListDeletion,
): Promise<Removal & { isDone: boolean }> => {
  await app.work(accountId, deletion.actor, (work) => close(work, listId))
  return sweepList(app, accountId, listId, deletion)
}

/** Goes on with deletions of lists that were broken off, or are under way elsewhere: two take turns, a batch each. */
export const finishListDeletions = async (app: Pick<App, 'sql' | 'work'>, signal: AbortSignal): Promise<void> => {
  const rows = await app.sql<{ id: string; accountId: string }>(
    `select l.id, l.account_id as "accountId" from leaving_lists l
       join accounts a on a.id = l.account_id and a.deleted_at is null order by l.id`,
  )
  for (const { id, accountId } of rows) {
    if (signal.aborted) return
    await sweepList(app, accountId, id, { actor: 'job:housekeeping', signal })
  }
}
