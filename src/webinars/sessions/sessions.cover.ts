import { imageFacts } from '../../lib/image.ts'
import type { RowOf } from '../../store/column-types.ts'
import { preparedStatement } from '../../store/statement.ts'
import { columns, types } from '../../store/tables.ts'
import type { AccountSql, Work } from '../../store/work.ts'
import { webinars } from '../webinars.columns.ts'

/** The maximum size of a cover in bytes. */
export const coverMaxBytes = 500 * 1024

/**
 * Sets the picture on the pages of a webinar. With null they show the drawn one. Throws Problem `invalid` for a file that is no
 * image.
 */
export const setCover = async (work: Work, id: string, cover: Buffer | null): Promise<void> => {
  const {
    type = null,
    hash = null,
    width = null,
    height = null,
  } = cover ? imageFacts('cover', cover, coverMaxBytes) : {}
  const values = { cover, coverType: type, coverHash: hash, coverWidth: width, coverHeight: height }
  const [em, { Webinar }] = await work.em(import('../webinars.entities.ts'))
  await em.nativeUpdate(Webinar, { id }, { ...values, updatedAt: work.now })
}

const ids = types(webinars, 'accountId', 'id')

const readContent = preparedStatement(
  'read-cover',
  { row: { content: 'bytea', type: 'text' }, parameters: ids },
  `select cover as content, cover_type as type from webinars
   where account_id = :accountId and id = :id and cover is not null`,
)

/** Returns the picture of a webinar, or null if it has none. */
export const coverOf = async ({ sql, accountId }: AccountSql, id: string) => {
  const [cover = null] = await sql(readContent, { accountId, id })
  return cover
}

/** What pages read of a cover. */
export const coverNames = ['coverHash', 'coverWidth', 'coverHeight'] as const
const shownColumns = columns(webinars, coverNames)
export type CoverRow = RowOf<typeof shownColumns.types>

/** Returns the path of a webinar's picture. The hash changes with the picture, so that browsers load a new one. */
export const coverPath = (accountId: string, id: string, coverHash: string): string =>
  `/assets/${accountId}/webinars/${id}/cover?v=${coverHash}`

const readShown = preparedStatement(
  'read-cover-of-webinar',
  { row: shownColumns.types, parameters: ids },
  `select ${shownColumns.list} from webinars where account_id = :accountId and id = :id`,
)

/** Returns the path of a webinar's picture, or null if it has none. */
export const findCover = async ({ sql, accountId }: AccountSql, id: string): Promise<string | null> => {
  const [row] = await sql(readShown, { accountId, id })
  return row?.coverHash ? coverPath(accountId, id, row.coverHash) : null
}
