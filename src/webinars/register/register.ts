import { activeAccounts } from '../../accounts/accounts.ts'
import { preparedStatement } from '../../store/statement.ts'
import type { App } from '../../store/work.ts'
import type { WebinarRow } from '../sessions/sessions.ts'

/** A webinar that anyone can register for. */
export interface PublicWebinar
  extends Pick<WebinarRow, 'id' | 'title' | 'description' | 'status' | 'scheduledAt' | 'timezone'> {
  accountId: string
}

const readPublic = preparedStatement<PublicWebinar>(
  'find-public-webinar',
  {
    accountId: 'text',
    id: 'text',
    title: 'text',
    description: 'text',
    status: 'text',
    scheduledAt: 'timestamptz',
    timezone: 'text',
  },
  `select w.account_id as "accountId", w.id, w.title, w.description, w.status, w.scheduled_at as "scheduledAt", w.timezone
   from webinars w join ${activeAccounts} a on a.id = w.account_id
   where w.id = $1 and w.access_mode = 'registration'`,
)

/** Returns a webinar of any account; null if it does not take registrations, or its account is deleted. */
export const findPublicWebinar = async ({ sql }: Pick<App, 'sql'>, id: string): Promise<PublicWebinar | null> =>
  /^\w{1,100}$/.test(id) ? ((await sql(readPublic, [id]))[0] ?? null) : null

/** Returns the URL of the page to register. */
export const registerUrl = ({ config }: Pick<App, 'config'>, id: string): string => `${config.publicUrl}/webinar/${id}`
