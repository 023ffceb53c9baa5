import { idOfCursor, type Page, pageOf } from '../lib/cursor.ts'
import { typedRow } from '../store/column-types.ts'
import { statement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'

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

const readPage = statement(
  'list-access',
  {
    row: typedRow<Omit<AccessView, 'at'> & { at: Date }>({
      id: 'text',
      at: 'timestamptz',
      actor: 'text',
      email: 'text',
      listId: 'text',
      found: 'int4',
    }),
    parameters: { accountId: 'text', before: 'text?', limit: 'int8' },
  },
  `select id, at, actor, email, list_id as "listId", found from access_log
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
