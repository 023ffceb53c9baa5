import { idOfCursor, type Page, pageOf } from '../lib/cursor.ts'
import { newId } from '../lib/ids.ts'
import type { PageRequest } from '../lib/page-request.ts'
import type { RowOf } from '../store/column-types.ts'
import { type InEpochMs, inEpochMs } from '../store/epoch-ms.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import { columns } from '../store/tables.ts'
import type { AccountSql, Work } from '../store/work.ts'
import { accessLog } from './contacts.columns.ts'
import type { Contact } from './contacts.view.ts'

const shownColumns = columns(accessLog, ['id', 'actor', 'email', 'listId', 'found', 'at'])

/** A read of contacts. `found` is the number of contacts that it returned. */
export type AccessView = InEpochMs<RowOf<typeof shownColumns.types>>

const readPage = statement(
  'list-access',
  {
    row: shownColumns.types,
    parameters: { accountId: 'text', before: 'text?', limit: 'int8' },
  },
  `select ${shownColumns.list} from access_log
   where account_id = :accountId and (:before::text is null or id < :before) order by id desc limit :limit`,
)

const insertReads = preparedStatement(
  'record-reads',
  {
    parameters: {
      accountId: 'text',
      actor: 'text',
      now: 'timestamptz',
      ids: '_text',
      emails: '_text',
      lists: '_text',
    },
  },
  `insert into access_log (account_id, id, at, actor, email, list_id, found)
   select :accountId, id, :now, :actor, email, list, 1
   from unnest(:ids::text[], :emails::text[], :lists::text[]) as i(id, email, list)`,
)

/** Records that contacts are read: one entry for each, so that what is held about a person says who has read it. */
export const recordReads = async (
  { sql, accountId, actor, now }: Work,
  contacts: readonly Pick<Contact, 'email' | 'listId'>[],
): Promise<void> => {
  if (contacts.length === 0) return
  await sql(insertReads, {
    accountId,
    actor,
    now,
    ids: contacts.map(() => newId('log', now.getTime())),
    emails: contacts.map(({ email }) => email),
    lists: contacts.map(({ listId }) => listId),
  })
}

/** Returns a page of the account's access log, newest first. Throws Problem `invalid` for a bad cursor. */
export const listAccess = async (
  { sql, accountId }: AccountSql,
  { limit, cursor }: PageRequest,
): Promise<Page<AccessView>> => {
  const before = idOfCursor('log', cursor)
  const rows = await sql(readPage, { accountId, before, limit: limit + 1 })
  return pageOf(rows.map(inEpochMs), limit)
}
