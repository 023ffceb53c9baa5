import { idOfCursor, type Page, pageOf } from '../lib/cursor.ts'
import { statement } from '../store/statement.ts'
import { columns } from '../store/tables.ts'
import type { Work } from '../store/work.ts'
import { accessLog } from './contacts.columns.ts'

export interface AccessView {
  id: string
  /** epoch ms */
  at: number
  actor: string
  email: string
  listId: string | null
  /** Number of contacts that the read returned. */
  found: number
}

const shownColumns = columns(accessLog, ['id', 'at', 'actor', 'email', 'listId', 'found'])

const readPage = statement(
  'list-access',
  {
    row: shownColumns.types,
    parameters: { accountId: 'text', before: 'text?', limit: 'int8' },
  },
  `select ${shownColumns.list} from access_log
   where account_id = :accountId and (:before::text is null or id < :before) order by id desc limit :limit`,
)

/** Returns a page of the account's access log, newest first. Throws Problem `invalid` for a bad cursor. */
export const listAccess = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<Page<AccessView>> => {
  const before = cursor === undefined ? null : idOfCursor('log', cursor)
  const rows = await sql(readPage, { accountId, before, limit: limit + 1 })
  return pageOf(
    rows.map(({ at, ...entry }) => ({ ...entry, at: at.getTime() })),
    limit,
  )
}
