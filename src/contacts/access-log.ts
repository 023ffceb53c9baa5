import { idOfCursor, type Page, pageOf } from '../lib/cursor.ts'
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

/** Returns a page of the account's access log, newest first. Throws Problem `invalid` for a bad cursor. */
export const listAccess = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<Page<AccessView>> => {
  const before = cursor === undefined ? null : idOfCursor('log', cursor)
  const rows = await sql<Omit<AccessView, 'at'> & { at: Date }>(
    `select id, at, actor, email, list_id as "listId", found from access_log
     where account_id = $1 and ($2::text is null or id < $2) order by id desc limit $3`,
    [accountId, before, limit + 1],
  )
  return pageOf(
    rows.map(({ at, ...entry }) => ({ ...entry, at: at.getTime() })),
    limit,
  )
}
