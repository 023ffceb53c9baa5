import { presentAccounts, readLocale, requireHere } from '../../accounts/accounts.ts'
import type { Locale } from '../../lib/dates.ts'
import { preparedStatement } from '../../store/statement.ts'
import type { App } from '../../store/work.ts'
import type { WebinarRow } from '../sessions/sessions.ts'

type Shown = 'id' | 'title' | 'description' | 'status' | 'scheduledAt' | 'durationMinutes' | 'timezone' | 'sequence'

interface Row extends Pick<WebinarRow, Shown> {
  accountId: string
  /** It is null if there is no limit. */
  seatsLeft: number | null
}

/** A webinar that anyone can register for. */
export interface PublicWebinar extends Row {
  /** How its dates are written. */
  locale: Locale
}

const readPublic = preparedStatement<Row>(
  'find-public-webinar',
  {
    accountId: 'text',
    id: 'text',
    title: 'text',
    description: 'text',
    status: 'text',
    scheduledAt: 'timestamptz',
    durationMinutes: 'int4',
    timezone: 'text',
    sequence: 'int4',
    seatsLeft: 'int4',
  },
  `select w.account_id as "accountId", w.id, w.title, w.description, w.status, w.scheduled_at as "scheduledAt",
     w.duration_minutes as "durationMinutes", w.timezone, w.sequence,
     case when w.capacity is not null then greatest(w.capacity - w.registered_count, 0) end as "seatsLeft"
   from webinars w join ${presentAccounts} a on a.id = w.account_id
   where w.id = $1 and w.access_mode = 'registration'`,
)

/**
 * Returns a webinar of any account; null if it takes no registrations, or its account is being deleted. Throws Problem `unavailable` or
 * `gone` if the account is exported.
 */
export const findPublicWebinar = async (
  app: Pick<App, 'sql' | 'database'>,
  id: string,
): Promise<PublicWebinar | null> => {
  const [row] = /^\w{1,100}$/.test(id) ? await app.sql(readPublic, [id]) : []
  if (!row) return null
  await requireHere(app, row.accountId)
  return { ...row, locale: await readLocale({ sql: app.sql, accountId: row.accountId }, row.timezone) }
}

/** Returns the URL of the page to register. */
export const registerUrl = ({ config }: Pick<App, 'config'>, id: string): string => `${config.publicUrl}/webinar/${id}`
