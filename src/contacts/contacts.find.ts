import { coalesceCalls } from '../lib/coalesce.ts'
import { decodeCursor, encodeCursor, idOfCursor, type Page } from '../lib/cursor.ts'
import { newId } from '../lib/ids.ts'
import { noSuch, notFound } from '../lib/problem.ts'
import { opaqueArray } from '../store/arrays.ts'
import { type RowOf, type TypeMap, typed, type ValuesOf } from '../store/column-types.ts'
import { forceIndexOrder, isSharedFailure, type Sql } from '../store/database.ts'
import { compiled, preparedStatement, type Statement, statement } from '../store/statement.ts'
import { type Row, types } from '../store/tables.ts'
import type { AccountSql, App, Work } from '../store/work.ts'
import { contacts } from './contacts.columns.ts'
import type { ContactCondition } from './contacts.rows.ts'
import {
  type Contact,
  contactColumns,
  contactsOfAddress,
  contactTypes,
  joinedToContact,
  viewContact,
} from './contacts.view.ts'
import { findList } from './lists/lists.ts'

/** The context of a recorded read, which is one statement and needs no transaction. */
type Reader = Pick<App, 'sql' | 'database'> & Pick<Work, 'accountId' | 'actor' | 'now'>

interface Question {
  email: string
  listId?: string | undefined
}

// Reads and records in one statement: every read is recorded, in one round trip. It inserts rows outside a unit of work, so it calls
// the account guard once for each account.
const readAndRecord = preparedStatement(
  'find-contacts',
  {
    row: { ...contactTypes, place: 'int4' },
    parameters: {
      accounts: '_text',
      actors: '_text',
      emails: '_text',
      lists: typed<(string | null)[]>('_text'),
      ids: '_text',
      times: '_timestamptz',
    },
  },
  `
  with asked as materialized (
    select * from unnest(${opaqueArray(':accounts')}, :actors::text[], :emails::text[], :lists::text[], :ids::text[], :times::timestamptz[])
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
    const rows = await sql(readAndRecord, {
      accounts: asked.map(({ accountId }) => accountId),
      actors: asked.map(({ actor }) => actor),
      emails: asked.map(({ email }) => email),
      lists: asked.map(({ listId }) => listId ?? null),
      ids: asked.map(({ now }) => newId('log', now.getTime())),
      times: asked.map(({ now }) => now),
    })
    const answers = asked.map((): Contact[] | null => null)
    for (const row of rows) {
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

const selectContacts = preparedStatement(
  'read-contacts',
  { row: contactTypes, parameters: { accountId: 'text', email: 'text', listId: 'text?' } },
  `select ${contactColumns} from ${contactsOfAddress}
   where a.account_id = :accountId and a.email = :email and (:listId::text is null or c.list_id = :listId)
   order by c.updated_at desc, c.list_id`,
)

/**
 * Returns the contacts of an address in all lists, or in one, most recently updated first. It is for internal use: the access is
 * not recorded.
 */
export const readContacts = async (
  { sql, accountId }: AccountSql,
  email: string,
  listId: string | null = null,
): Promise<Contact[]> => {
  const rows = await sql(selectContacts, { accountId, email, listId })
  return rows.map(viewContact)
}

const selectContactsOf = preparedStatement(
  'read-contacts-of',
  { row: contactTypes, parameters: { accountId: 'text', emails: '_text' } },
  `select ${contactColumns} from ${contactsOfAddress}
   where a.account_id = :accountId and a.email = any(:emails) order by c.updated_at desc, c.list_id`,
)

/** Returns the contacts of many addresses in all lists, most recently updated first. The access is not recorded. */
export const readContactsOf = async ({ sql, accountId }: AccountSql, emails: readonly string[]): Promise<Contact[]> => {
  const rows = await sql(selectContactsOf, { accountId, emails })
  return rows.map(viewContact)
}

const selectMembers = preparedStatement(
  'read-members',
  { row: contactTypes, parameters: { accountId: 'text', emails: '_text', listId: 'text' } },
  `select ${contactColumns} from unnest(${opaqueArray(':emails')}) as i(email)
   cross join lateral (select * from addresses where account_id = :accountId and email = i.email limit 1) a
   cross join lateral (
     select * from contacts where account_id = :accountId and row_id = a.row_id and list_id = :listId limit 1
   ) c
   join contact_lists l on l.id = c.list_id
   order by c.email`,
)

/**
 * Returns the contacts of addresses in one list, in the order of the addresses. `columns` are those of the list that are written only at
 * the end of the unit of work. The read is not recorded.
 */
export const readMembers = async (
  { sql, accountId }: AccountSql,
  listId: string,
  emails: readonly string[],
  columns: readonly string[],
): Promise<Contact[]> => {
  const rows = await sql(selectMembers, { accountId, emails, listId })
  return rows.map((row) => viewContact({ ...row, listFields: [...row.listFields, ...columns] }))
}

const selectMemberEmails = preparedStatement(
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
  { sql, accountId }: AccountSql,
  listId: string,
  emails: readonly string[],
): Promise<string[]> => {
  if (emails.length === 0) return []
  const rows = await sql(selectMemberEmails, { accountId, emails, listId })
  return rows.map(({ email }) => email)
}

/** Returns the contacts of an address, one for each list. Throws Problem `not_found` if the address is in no list. */
export const showContact = async (work: AccountSql, email: string): Promise<Contact[]> => {
  const contacts = await readContacts(work, email)
  if (contacts.length === 0) throw noSuch('contact', email, { hint: 'svc contacts list' })
  return contacts
}

/** Finds the contacts that flags of a command name: the list, and a condition on its contacts. Another feature implements it. */
export type Narrow = (
  work: Work,
  flags: { list?: string | undefined; where?: string | undefined; segment?: string | undefined },
) => Promise<{ list: string | undefined; condition?: ContactCondition }>

/**
 * Declares a query of contacts that can leave out those that do not meet a condition. With a condition the text differs each time, so it
 * does not stay prepared.
 */
const narrowable = <const Columns extends TypeMap, const Parameters extends TypeMap>(
  declare: typeof statement,
  name: string,
  declaration: { row: Columns; parameters: Parameters },
  textOf: (condition: string) => string,
) => {
  const whole: Statement<RowOf<Columns>, object> = declare(name, declaration, textOf('true'))
  return (sql: Sql, values: ValuesOf<Parameters>, condition?: ContactCondition): Promise<RowOf<Columns>[]> => {
    if (!condition) return sql(whole, values)
    const named: Record<string, unknown> = { ...values }
    const bind = (value: unknown) => {
      const parameter = `of${Object.keys(named).length}`
      named[parameter] = value
      return `:${parameter}`
    }
    const text = compiled(name, textOf(condition(bind)), Object.keys(named))
    return sql(text, Object.values(named))
  }
}

// `|| ''` hides the account from the planner, so that it uses the list's index; with `forceIndexOrder` it does not sort.
/** Reads a page of one list in the order of `rowId`: the order in which the addresses were added to the account. */
const readPageOfList = narrowable(
  statement,
  'page-of-list',
  { row: contactTypes, parameters: { accountId: 'text', listId: 'text', rowId: 'text', end: 'text', limit: 'int8' } },
  (condition) => `select ${contactColumns} from (
    select * from contacts c
    where account_id || '' = :accountId and list_id = :listId and row_id > :rowId and row_id <= :end and ${condition}
    order by row_id limit :limit
  ) c ${joinedToContact} order by c.row_id`,
)

const readEnd = statement(
  'end-of-page-of-list',
  {
    row: types(contacts, 'rowId'),
    parameters: { accountId: 'text', listId: 'text', rowId: 'text', skipped: 'int8' },
  },
  `select row_id as "rowId" from contacts where account_id || '' = :accountId and list_id = :listId and row_id > :rowId
   order by row_id offset :skipped limit 1`,
)

/** It follows every row id. */
const lastRowId = '~'

const readPageOfAll = narrowable(
  statement,
  'page-of-contacts',
  { row: contactTypes, parameters: { accountId: 'text', email: 'text', listId: 'text', limit: 'int8' } },
  (condition) => `select ${contactColumns} from ${contactsOfAddress}
   where a.account_id = :accountId and a.email >= :email and (a.email > :email or c.list_id > :listId) and ${condition}
   order by a.email, c.list_id limit :limit`,
)

/** Returns a page of rows that were read with `limit + 1`. `end` is where the reading ended, if it did not end with the list. */
const pageOfRows = (
  rows: readonly RowOf<typeof contactTypes>[],
  limit: number,
  keyOf: (contact: Contact) => string[],
  end?: string[],
): Page<Contact> => {
  const page = rows.slice(0, limit).map(viewContact)
  const next = rows.length > limit ? keyOf(page.at(-1)!) : end
  return { rows: page, nextCursor: next ? encodeCursor(next) : null }
}

/**
 * Returns a page of contacts: of one list (id or name) by row id, or of all lists by address. `condition` leaves others out. Throws
 * Problem `not_found`, or `invalid` for a bad cursor.
 */
export const listContacts = async (
  work: AccountSql,
  {
    list,
    cursor,
    limit,
    reads,
    condition,
  }: {
    list?: string | undefined
    cursor?: string | undefined
    limit: number
    /** As in PageRequest, for pages of one list. */
    reads?: number | undefined
    condition?: ContactCondition | undefined
  },
): Promise<Page<Contact>> => {
  const { sql, accountId } = work
  await sql(forceIndexOrder)
  const after = { accountId, limit: limit + 1 }
  if (list === undefined) {
    const [email = '', listId = ''] = cursor === undefined ? [] : decodeCursor(cursor, 2)
    const rows = await readPageOfAll(sql, { ...after, email, listId }, condition)
    return pageOfRows(rows, limit, ({ email, listId }) => [email, listId])
  }
  const rowId = idOfCursor('row', cursor) ?? ''
  const from = { listId: (await findList(work, list)).id, rowId }
  const [end] = condition && reads ? await sql(readEnd, { accountId, ...from, skipped: reads - 1 }) : []
  const rows = await readPageOfList(sql, { ...after, ...from, end: end?.rowId ?? lastRowId }, condition)
  return pageOfRows(rows, limit, ({ rowId }) => [rowId], end && [end.rowId])
}

const recipientTypes = types(contacts, 'rowId', 'email', 'fields')

/** An active contact of a list, with the data for an email. */
export type Recipient = Row<typeof contacts, keyof typeof recipientTypes>

// `|| ''` hides the account, so that the planner uses the list's index: without statistics it would read and sort the account's contacts.
const readNextRecipients = narrowable(
  preparedStatement,
  'read-recipients',
  {
    row: recipientTypes,
    parameters: { accountId: 'text', listId: 'text', after: 'text', at: 'timestamptz', limit: 'int8' },
  },
  (condition) => `select row_id as "rowId", email, fields from contacts c
   where account_id || '' = :accountId and list_id = :listId and row_id > :after and status = 'active' and created_at <= :at
     and exists (select from contact_lists where account_id = :accountId and id = :listId) and ${condition}
   order by row_id limit :limit`,
)

/**
 * Returns the next active contacts of a list, in the order of `rowId`, that were in the list at the time `at` and meet
 * `condition`. The access is not recorded.
 */
export const readRecipients = (
  { sql, accountId }: AccountSql,
  listId: string,
  { after, at, limit, condition }: { after: string; at: Date; limit: number; condition?: ContactCondition | undefined },
): Promise<Recipient[]> => readNextRecipients(sql, { accountId, listId, after, at, limit }, condition)

const selectRecipientsIn = preparedStatement(
  'read-recipients-in',
  {
    row: recipientTypes,
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
 * Returns, for each address with one of the row ids, its active contact in the first of the lists that has one. If the lists are
 * null, it is the most recently updated one of any list. The contacts are in the order of the row ids. The access is not
 * recorded.
 */
export const readRecipientsIn = (
  { sql, accountId }: AccountSql,
  listIds: readonly string[] | null,
  rowIds: readonly string[],
): Promise<Recipient[]> => sql(selectRecipientsIn, { accountId, listIds, rowIds })

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
  for (let rowId = ''; ; ) {
    const rows = await database.transaction(
      (sql) => readPageOfList(sql, { accountId, listId, rowId, end: lastRowId, limit: exportPage }, condition),
      forceIndexOrder,
    )
    if (rows.length > 0) yield rows.map(viewContact)
    if (rows.length < exportPage) return
    rowId = rows.at(-1)!.rowId
  }
}

const readReasons = statement(
  'verification-reasons',
  { row: { reasons: '_text?' }, parameters: { accountId: 'text', email: 'text' } },
  'select verification_reasons as reasons from addresses where account_id = :accountId and email = :email',
)

/** Returns why verification doubts a normalised address or rejected it. Empty if the account does not have it. */
export const verificationReasons = async ({ sql, accountId }: Work, email: string): Promise<string[]> => {
  const [row] = await sql(readReasons, { accountId, email })
  return row?.reasons ?? []
}

/** A contact as commands show it. The API has no `suppression` (docs/reference/api.md#contact). */
export interface ShownContact extends Contact {
  /** The reason why the address gets no marketing. It is empty if it does. */
  suppression: string
}

/** Returns contacts with the reasons why their addresses get no marketing. */
export const withSuppression = async (
  app: Pick<App, 'suppressing'>,
  reader: AccountSql,
  contacts: readonly Contact[],
): Promise<ShownContact[]> => {
  const doubtful = contacts.filter(
    ({ status, verification }) => status !== 'active' || verification?.status === 'invalid',
  )
  const { reasonsOf } = await app.suppressing()
  const emails = (of: readonly Contact[]) => [...new Set(of.map(({ email }) => email))]
  const reasons = await reasonsOf(reader, emails(contacts), emails(doubtful))
  return contacts.map((contact) => ({ ...contact, suppression: reasons.get(contact.email) ?? '' }))
}
