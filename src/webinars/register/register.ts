import { presentAccounts } from '../../accounts/accounts.rows.ts'
import { readLocale, requireHere } from '../../accounts/accounts.ts'
import type { Locale } from '../../lib/dates.ts'
import type { RowOf } from '../../store/column-types.ts'
import { preparedStatement } from '../../store/statement.ts'
import { columns } from '../../store/tables.ts'
import type { App } from '../../store/work.ts'
import { coverNames } from '../sessions/sessions.cover.ts'
import { webinars } from '../webinars.columns.ts'

const shownColumns = columns(
  webinars,
  [
    'accountId',
    'id',
    'title',
    'description',
    'status',
    'scheduledAt',
    'durationMinutes',
    'timezone',
    'sequence',
    ...coverNames,
  ],
  'w',
)

/** `seatsLeft` is null if there is no limit. */
const rowTypes = { ...shownColumns.types, seatsLeft: 'int4?' } as const

/** A webinar that anyone can register for. */
export interface PublicWebinar extends RowOf<typeof rowTypes> {
  /** How its dates are written. */
  locale: Locale
}

const readPublic = preparedStatement(
  'find-public-webinar',
  { row: rowTypes, parameters: { id: 'text' } },
  `select ${shownColumns.list},
     case when w.capacity is not null then greatest(w.capacity - w.registered_count, 0) end as "seatsLeft"
   from webinars w join ${presentAccounts} a on a.id = w.account_id
   where w.id = :id and w.access_mode = 'registration'`,
)

/**
 * Returns a webinar of any account; null if it takes no registrations, or its account is being deleted. Throws Problem `unavailable` or
 * `gone` if the account is exported.
 */
export const findPublicWebinar = async (
  app: Pick<App, 'sql' | 'database'>,
  id: string,
): Promise<PublicWebinar | null> => {
  const [row] = /^\w{1,100}$/.test(id) ? await app.sql(readPublic, { id }) : []
  if (!row) return null
  await requireHere(app, row.accountId)
  return { ...row, locale: await readLocale({ sql: app.sql, accountId: row.accountId }, row.timezone) }
}

export const registerUrl = ({ config }: Pick<App, 'config'>, id: string): string => `${config.publicUrl}/webinar/${id}`
