import { coalesceCalls } from '../lib/coalesce.ts'
import { decodeCursor, encodeCursor, type Page } from '../lib/cursor.ts'
import { newId } from '../lib/ids.ts'
import { noSuch, notFound } from '../lib/problem.ts'
import { opaqueArray } from '../store/arrays.ts'
import { typed, typedRow } from '../store/column-types.ts'
import { forceIndexOrder, isSharedFailure, type Sql } from '../store/database.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import type { App, Work } from '../store/work.ts'
import { type ContactCondition, narrowedTo } from './contacts.rows.ts'
import {
  type Contact,
  type ContactRow,
  contactColumns,
  contactsOfAddress,
  contactTypes,
  joinedToContact,
  viewContact,
} from './contacts.view.ts'
import { findList } from './lists/lists.ts'

/** The context of a recorded read, which is one statement and needs no transaction. */
export type Reader = Pick<App, 'sql' | 'database'> & Pick<Work, 'accountId' | 'actor' | 'now'>

interface Question {
  email: string
  listId?: string | undefined
}

// Reads and records in one statement: every read is recorded, in one round trip. It inserts rows outside a unit of work, so it calls
// the account guard once for each account.
const recordedRead = preparedStatement<ContactRow & { place: number }>(
  'find-contacts',
  { ...contactTypes, place: 'int4' },
  `
  with asked as materialized (
    select * from unnest(${opaqueArray('$1')}, $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[])
      with ordinality as a(account, actor, email, list, log, at, place)
  ), alive as materialized (
    select account from (select distinct account from asked) a where account_works(account)
  ), known as materialized (
    select asked.* from asked join alive using (account)
    where list is null or exists (select from contact_lists where account_id = account and id = list)
  ), found as materialized (
    select known.place, f.* from known cross join lateral (
      select ${contactColumns} from ${contactsOfAddress}
      where a.account_id = known.account and a.email = known.email and (known.list is null or c.list_id = known.list) offset 0
    ) f
  ), recorded as (
    insert into access_log (account_id, id, at, actor, email, list_id, found)
    select account, log, at, actor, email, list, (select count(*)::int from found where found.place = known.place) from known
  )
  select found.*, known.place::int from known left join found on found.place = known.place
  order by known.place, found."updatedAt" desc, found."listId"`,
)

const maxBatch = 64

interface Asked extends Question {
  accountId: string
  actor: string
  now: Date
}

/** Returns null if the account has no such list. */
const readTogether = coalesceCalls(
  maxBatch,
  async ({ sql }: { sql: Sql }, asked: readonly Asked[]): Promise<(Contact[] | null)[]> => {
    const params = [
      ...[asked.map(({ accountId }) => accountId), asked.map(({ actor }) => actor), asked.map(({ email }) => email)],
      ...[asked.map(({ listId }) => listId ?? null), asked.map(({ now }) => newId('log', now.getTime()))],
      asked.map(({ now }) => now),
    ]
    const answers = asked.map((): Contact[] | null => null)
    for (const row of await sql(recordedRead, params)) {
      answers[row.place - 1] ??= []
      if (row.rowId !== null) answers[row.place - 1]!.push(viewContact(row))
    }
    return answers
  },
  { isShared: isSharedFailure },
)

/**
 * Returns the contacts of an address in all lists, or in one, most recently updated first, and records the read in the access log
 * (docs/reference/api.md#get-contacts). Calls of any account that arrive during a statement share the next one and its commit. Throws
 * Problem `not_found` for a list that is not the account's, which is not recorded.
 */
export const findContacts = async (reader: Reader, { email, listId }: Question): Promise<Contact[]> => {
  const { sql, database, accountId, actor, now } = reader
  const found = await readTogether({ sql }, database, '', { accountId, actor, now, email, listId })
  if (!found) throw notFound('There is no such list')
  return found
}

const readingContacts = preparedStatement(
  'read-contacts',
  { row: typedRow<ContactRow>(contactTypes), parameters: { accountId: 'text', email: 'text', listId: 'text?' } },
  `select ${contactColumns} from ${contactsOfAddress}
   where a.account_id = :accountId and a.email = :email and (:listId::text is null or c.list_id = :listId)
   order by c.updated_at desc, c.list_id`,
)

/** Returns the contacts of an address in all lists, or in one, most recently updated first. Not recorded: for internal use. */
export const readContacts = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  email: string,
  listId: string | null = null,
): Promise<Contact[]> => {
  const rows = await sql(readingContacts, { accountId, email, listId })
  return rows.map(viewContact)
}

const readingContactsOf = preparedStatement(
  'read-contacts-of',
  { row: typedRow<ContactRow>(contactTypes), parameters: { accountId: 'text', emails: '_text' } },
  `select ${contactColumns} from ${contactsOfAddress}
   where a.account_id = :accountId and a.email = any(:emails) order by c.updated_at desc, c.list_id`,
)

/** Returns the contacts of many addresses in all lists, most recently updated first. Not recorded. */
export const readContactsOf = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  emails: readonly string[],
): Promise<Contact[]> => {
  const rows = await sql(readingContactsOf, { accountId, emails })
  return rows.map(viewContact)
}

// $2 addresses, $3 the list.
const readingMembers = preparedStatement(
  'read-members',
  { row: typedRow<ContactRow>(contactTypes), parameters: { accountId: 'text', emails: '_text', listId: 'text' } },
  `select ${contactColumns} from unnest(${opaqueArray(':emails')}) as i(email)
   cross join lateral (select * from addresses where account_id = :accountId and email = i.email limit 1) a
   cross join lateral (
     select * from contacts where account_id = :accountId and row_id = a.row_id and list_id = :listId limit 1
   ) c
   join contact_lists l on l.id = c.list_id
   order by c.email`,
)

/**
 * Returns the contacts of addresses in one list, in the order of the addresses. `columns`: columns of the list that are written only at
 * the end of the unit of work. Not recorded.
 */
export const readMembers = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  listId: string,
  emails: readonly string[],
  columns: readonly string[],
): Promise<Contact[]> => {
  const rows = await sql(readingMembers, { accountId, emails, listId })
  return rows.map((row) => viewContact({ ...row, listFields: [...row.listFields, ...columns] }))
}

// $2 addresses, $3 the list.
const findingMembers = preparedStatement(
  'find-members',
  { row: { email: 'text' }, parameters: { accountId: 'text', emails: '_text', listId: 'text' } },
  `select i.email from unnest(${opaqueArray(':emails')}) as i(email)
   cross join lateral (select row_id from addresses where account_id = :accountId and email = i.email limit 1) a
   cross join lateral (
     select from contacts where account_id = :accountId and row_id = a.row_id and list_id = :listId limit 1
   ) c`,
)

/** Returns the addresses that are in the list. */
export const findMembers = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  listId: string,
  emails: readonly string[],
): Promise<string[]> => {
  if (emails.length === 0) return []
  const rows = await sql(findingMembers, { accountId, emails, listId })
  return rows.map(({ email }) => email)
}

/** As `readContacts`. Throws Problem `not_found` if the address is in no list. */
export const showContact = async (work: Pick<Work, 'sql' | 'accountId'>, email: string): Promise<Contact[]> => {
  const contacts = await readContacts(work, email)
  if (contacts.length === 0) throw noSuch('contact', email, { hint: 'svc contacts list' })
  return contacts
}

/** Finds the contacts that flags of a command name: the list, and a condition on its contacts. Another feature implements it. */
export type Narrow = (
  work: Work,
  flags: { list?: string | undefined; where?: string | undefined; segment?: string | undefined },
) => Promise<{ list: string | undefined; condition?: ContactCondition }>

// `|| ''` hides the account from the planner, so that it uses the list's index; with `forceIndexOrder` it does not sort.
/** Reads a page of one list in the order of `rowId`: the order in which the addresses were added to the account. */
const textOfListPage = (condition: string): string =>
  `select ${contactColumns} from (
    select * from contacts c where account_id || '' = $1 and list_id = $2 and row_id > $3 and ${condition}
    order by row_id limit $4
  ) c ${joinedToContact} order by c.row_id`

const pageOfList = statement<ContactRow>('page-of-list', contactTypes, textOfListPage('true'))

const textOfAllPage = (condition: string): string =>
  `select ${contactColumns} from ${contactsOfAddress}
   where a.account_id = $1 and a.email >= $2 and (a.email > $2 or c.list_id > $3) and ${condition}
   order by a.email, c.list_id limit $4`

const pageOfAll = statement<ContactRow>('page-of-contacts', contactTypes, textOfAllPage('true'))

/**
 * Returns a page of contacts: of one list (id or name) by row id, or of all lists by address. `condition` leaves others out. Throws
 * Problem `not_found`, or `invalid` for a bad cursor.
 */
export const listContacts = async (
  work: Pick<Work, 'sql' | 'accountId'>,
  {
    list,
    cursor,
    limit,
    condition,
  }: {
    list?: string | undefined
    cursor?: string | undefined
    limit: number
    condition?: ContactCondition | undefined
  },
): Promise<Page<Contact>> => {
  const { sql, accountId } = work
  await sql(forceIndexOrder)
  const keyLength = list === undefined ? 2 : 1
  const key = cursor === undefined ? ['', ''].slice(0, keyLength) : decodeCursor(cursor, keyLength)
  const rows =
    list === undefined
      ? await sql(...narrowedTo(condition, pageOfAll, textOfAllPage, [accountId, ...key, limit + 1]))
      : await sql(
          ...narrowedTo(condition, pageOfList, textOfListPage, [
            accountId,
            (await findList(work, list)).id,
            ...key,
            limit + 1,
          ]),
        )
  const page = rows.slice(0, limit).map(viewContact)
  const last = page.at(-1)
  const nextKey = list === undefined ? [last?.email ?? '', last?.listId ?? ''] : [last?.rowId ?? '']
  return { rows: page, nextCursor: rows.length > limit ? encodeCursor(nextKey) : null }
}

/** An active contact of a list, with the data for an email. */
export interface Recipient {
  rowId: string
  email: string
  fields: Record<string, string>
}

// `|| ''` hides the account, so that the planner uses the list's index: without statistics it would read and sort the account's contacts.
const textOfRecipients = (condition: string): string =>
  `select row_id as "rowId", email, fields from contacts c
   where account_id || '' = $1 and list_id = $2 and row_id > $3 and status = 'active' and created_at <= $4
     and exists (select from contact_lists where account_id = $1 and id = $2) and ${condition}
   order by row_id limit $5`

const readingRecipients = preparedStatement<Recipient>(
  'read-recipients',
  { rowId: 'text', email: 'text', fields: 'jsonb' },
  textOfRecipients('true'),
)

/**
 * Returns the next active contacts of a list, in the order of `rowId`, that were in the list at the time `at` and meet `condition`. Not
 * recorded.
 */
export const readRecipients = (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  listId: string,
  { after, at, limit, condition }: { after: string; at: Date; limit: number; condition?: ContactCondition | undefined },
): Promise<Recipient[]> =>
  sql(...narrowedTo(condition, readingRecipients, textOfRecipients, [accountId, listId, after, at, limit]))

const readingRecipientsOf = preparedStatement(
  'read-recipients-of',
  {
    row: { rowId: 'text', email: 'text', fields: typed<Record<string, string>>('jsonb') },
    parameters: { accountId: 'text', listId: 'text', rowIds: '_text' },
  },
  `select c.row_id as "rowId", c.email, c.fields from unnest(${opaqueArray(':rowIds')}) as i(row_id)
   cross join lateral (
     select row_id, email, fields from contacts
     where account_id = :accountId and row_id = i.row_id and list_id = :listId and status = 'active' limit 1
   ) c
   where exists (select from contact_lists where account_id = :accountId and id = :listId)
   order by c.row_id`,
)

/** Returns the active contacts of a list among those with the row ids, in their order. Not recorded. */
export const readRecipientsOf = (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  listId: string,
  rowIds: readonly string[],
): Promise<Recipient[]> => sql(readingRecipientsOf, { accountId, listId, rowIds })

const readingRecipientsIn = preparedStatement(
  'read-recipients-in',
  {
    row: { rowId: 'text', email: 'text', fields: typed<Record<string, string>>('jsonb') },
    parameters: { accountId: 'text', listIds: '_text?', rowIds: '_text' },
  },
  `select c.row_id as "rowId", c.email, c.fields from unnest(${opaqueArray(':rowIds')}) as i(row_id)
   cross join lateral (
     select c.row_id, c.email, c.fields from contacts c join contact_lists l on l.account_id = :accountId and l.id = c.list_id
     where c.account_id = :accountId and c.row_id = i.row_id and c.status = 'active' and (:listIds::text[] is null or c.list_id = any(:listIds))
     order by array_position(:listIds, c.list_id), c.updated_at desc, c.list_id limit 1
   ) c
   order by c.row_id`,
)

/**
 * Returns, of the addresses with the row ids, the active contact in the first of the lists that has one; null: in any list, the most
 * recently updated one. In the order of row ids. Not recorded.
 */
export const readRecipientsIn = (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  listIds: readonly string[] | null,
  rowIds: readonly string[],
): Promise<Recipient[]> => sql(readingRecipientsIn, { accountId, listIds, rowIds })

const exportPage = 1_000

/**
 * Yields a whole list in pages, without the contacts that do not meet `condition`. Each page has its own transaction, so none stays open
 * while the reader is slow.
 */
export async function* exportContacts(
  { database }: Pick<App, 'database'>,
  accountId: string,
  listId: string,
  condition?: ContactCondition,
): AsyncGenerator<Contact[]> {
  for (let after = ''; ; ) {
    const params = [accountId, listId, after, exportPage]
    const rows = await database.transaction(
      (sql) => sql(...narrowedTo(condition, pageOfList, textOfListPage, params)),
      forceIndexOrder,
    )
    if (rows.length > 0) yield rows.map(viewContact)
    if (rows.length < exportPage) return
    after = rows.at(-1)!.rowId
  }
}
