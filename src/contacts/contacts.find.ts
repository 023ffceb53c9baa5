import { coalesceCalls } from '../lib/coalesce.ts'
import { decodeCursor, encodeCursor, type Page } from '../lib/cursor.ts'
import { newId } from '../lib/ids.ts'
import { missing } from '../lib/problem.ts'
import { unseen } from '../store/arrays.ts'
import { alongAnIndex, isSharedFailure, type Sql } from '../store/database.ts'
import type { App, Work } from '../store/work.ts'
import { findList } from './contacts.lists.ts'
import {
  type Contact,
  type ContactRow,
  contactColumns,
  contactsOfAddress,
  joinedToContact,
  viewContact,
} from './contacts.view.ts'

/** A caller that may read outside a transaction: what it needs is one statement. */
export type Reader = Pick<App, 'sql' | 'database'> & Pick<Work, 'accountId' | 'actor' | 'now'>

interface Question {
  email: string
  listId?: string | undefined
}

// Read and record in one statement: nothing is read that is not recorded, at the price of one round trip. It adds rows outside a
// unit of work, so it asks whether the accounts are alive, each of them once.
const recordedRead = `
  with asked as materialized (
    select * from unnest(${unseen('$1')}, $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[])
      with ordinality as a(account, actor, email, list, log, at, place)
  ), alive as materialized (
    select account from (select distinct account from asked) a where account_lives(account)
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
  order by known.place, found."updatedAt" desc, found."listId"`

const mostAtOnce = 64

interface Asked extends Question {
  accountId: string
  actor: string
  now: Date
}

/** null where the account has no such list. */
const readTogether = coalesceCalls(
  mostAtOnce,
  async ({ sql }: { sql: Sql }, asked: readonly Asked[]): Promise<(Contact[] | null)[]> => {
    const params = [
      ...[asked.map(({ accountId }) => accountId), asked.map(({ actor }) => actor), asked.map(({ email }) => email)],
      ...[asked.map(({ listId }) => listId ?? null), asked.map(({ now }) => newId('log', now.getTime()))],
      asked.map(({ now }) => now),
    ]
    const answers = asked.map((): Contact[] | null => null)
    for (const row of await sql<ContactRow & { place: number }>(recordedRead, params, 'find-contacts')) {
      answers[row.place - 1] ??= []
      if (row.rowId !== null) answers[row.place - 1]!.push(viewContact(row))
    }
    return answers
  },
  { isShared: isSharedFailure },
)

/**
 * The address's row in each of the account's lists, or in one, most recently updated first, recorded in the access log
 * (GET /contacts). Calls that arrive while others are being read share the next statement and its commit, whatever their
 * account. Throws Problem `missing` for a list that is not the account's; that is recorded nowhere.
 */
export const findContacts = async (reader: Reader, { email, listId }: Question): Promise<Contact[]> => {
  const { sql, database, accountId, actor, now } = reader
  const found = await readTogether({ sql }, database, '', { accountId, actor, now, email, listId })
  if (!found) throw missing('There is no such list')
  return found
}

/** The address's rows, or its row in one list, most recently updated first. Not recorded: for what the service does itself. */
export const readContacts = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  email: string,
  listId: string | null = null,
): Promise<Contact[]> => {
  const rows = await sql<ContactRow>(
    `select ${contactColumns} from ${contactsOfAddress}
     where a.account_id = $1 and a.email = $2 and ($3::text is null or c.list_id = $3)
     order by c.updated_at desc, c.list_id`,
    [accountId, email, listId],
    'read-contacts',
  )
  return rows.map(viewContact)
}

/** The rows of many addresses in every list, most recently updated first. Not recorded, as `readContacts`. */
export const readContactsOf = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  emails: readonly string[],
): Promise<Contact[]> => {
  const rows = await sql<ContactRow>(
    `select ${contactColumns} from ${contactsOfAddress}
     where a.account_id = $1 and a.email = any($2) order by c.updated_at desc, c.list_id`,
    [accountId, emails],
    'read-contacts-of',
  )
  return rows.map(viewContact)
}

/**
 * The rows of addresses in one list, in the order of the addresses. `columns`: those that the list is to have, too, at the end of
 * the unit of work. Not recorded, as `readContacts`.
 */
export const readMembers = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  listId: string,
  emails: readonly string[],
  columns: readonly string[],
): Promise<Contact[]> => {
  const rows = await sql<ContactRow>(
    `select ${contactColumns} from unnest($2::text[]) as i(email)
     cross join lateral (select * from addresses where account_id = $1 and email = i.email limit 1) a
     cross join lateral (
       select * from contacts where account_id = $1 and row_id = a.row_id and list_id = $3 limit 1
     ) c
     join contact_lists l on l.id = c.list_id
     order by c.email`,
    [accountId, emails, listId],
    'read-members',
  )
  return rows.map((row) => viewContact({ ...row, listFields: [...row.listFields, ...columns] }))
}

/** Those of the addresses that are in the list. */
export const findMembers = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  listId: string,
  emails: readonly string[],
): Promise<string[]> => {
  if (emails.length === 0) return []
  const rows = await sql<{ email: string }>(
    `select i.email from unnest($2::text[]) as i(email)
     cross join lateral (select row_id from addresses where account_id = $1 and email = i.email limit 1) a
     cross join lateral (
       select from contacts where account_id = $1 and row_id = a.row_id and list_id = $3 limit 1
     ) c`,
    [accountId, emails, listId],
    'find-members',
  )
  return rows.map(({ email }) => email)
}

/** Like `readContacts`. Throws Problem `missing` where the address is in no list. */
export const showContact = async (work: Pick<Work, 'sql' | 'accountId'>, email: string): Promise<Contact[]> => {
  const contacts = await readContacts(work, email)
  if (contacts.length === 0) throw missing(`There is no contact ${email}`, { hint: 'svc contacts list' })
  return contacts
}

// With the account hidden no other index than the list's has this order, and with `alongAnIndex` nothing is sorted.
/** A page of one list in the order of `rowId`, which is that in which the addresses came. */
const pageOfList = (sql: Work['sql'], accountId: string, listId: string, after: string, limit: number) =>
  sql<ContactRow>(
    `select ${contactColumns} from (
       select * from contacts where account_id || '' = $1 and list_id = $2 and row_id > $3 order by row_id limit $4
     ) c ${joinedToContact} order by c.row_id`,
    [accountId, listId, after, limit],
  )

const pageOfAll = (sql: Work['sql'], accountId: string, [email, listId]: readonly string[], limit: number) =>
  sql<ContactRow>(
    `select ${contactColumns} from ${contactsOfAddress}
     where a.account_id = $1 and a.email >= $2 and (a.email > $2 or c.list_id > $3) order by a.email, c.list_id limit $4`,
    [accountId, email, listId, limit],
  )

/** A page of the account's contacts: of one list (id or name), or of all by address. Throws Problem `missing`, `invalid`. */
export const listContacts = async (
  work: Pick<Work, 'sql' | 'accountId'>,
  { list, cursor, limit }: { list?: string | undefined; cursor?: string | undefined; limit: number },
): Promise<Page<Contact>> => {
  const { sql, accountId } = work
  await sql(alongAnIndex)
  const keyLength = list === undefined ? 2 : 1
  const key = cursor === undefined ? ['', ''].slice(0, keyLength) : decodeCursor(cursor, keyLength)
  const rows =
    list === undefined
      ? await pageOfAll(sql, accountId, key, limit + 1)
      : await pageOfList(sql, accountId, (await findList(work, list)).id, key[0]!, limit + 1)
  const page = rows.slice(0, limit).map(viewContact)
  const last = page.at(-1)
  const nextKey = list === undefined ? [last?.email ?? '', last?.listId ?? ''] : [last?.rowId ?? '']
  return { rows: page, nextCursor: rows.length > limit ? encodeCursor(nextKey) : null }
}

/** An active contact of a list, as a mail is made for it. */
export interface Recipient {
  rowId: string
  email: string
  fields: Record<string, string>
}

// By the list alone, whose index has the order: a planner without statistics would read the account's contacts and sort them.
/** The next active contacts of a list in the order of `rowId`, those alone that were in it at a time. Not recorded. */
export const readRecipients = (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  listId: string,
  { after, at, limit }: { after: string; at: Date; limit: number },
): Promise<Recipient[]> =>
  sql<Recipient>(
    `select row_id as "rowId", email, fields from contacts
     where account_id || '' = $1 and list_id = $2 and row_id > $3 and status = 'active' and created_at <= $4
       and exists (select from contact_lists where account_id = $1 and id = $2)
     order by row_id limit $5`,
    [accountId, listId, after, at, limit],
    'read-recipients',
  )

const exportPage = 1_000

/** A whole list in pages, each read by a transaction of its own: none stays open while a reader is slow. */
export async function* exportContacts(
  { database }: Pick<App, 'database'>,
  accountId: string,
  listId: string,
): AsyncGenerator<Contact[]> {
  for (let after = ''; ; ) {
    const from = after
    const rows = await database.transaction((sql) => pageOfList(sql, accountId, listId, from, exportPage), alongAnIndex)
    if (rows.length > 0) yield rows.map(viewContact)
    if (rows.length < exportPage) return
    after = rows.at(-1)!.rowId
  }
}
