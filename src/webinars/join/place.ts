import { presentAccounts, readLocale, requireHere } from '../../accounts/accounts.ts'
import type { Locale } from '../../lib/dates.ts'
import { preparedStatement } from '../../store/statement.ts'
import type { App } from '../../store/work.ts'
import type { WebinarRow } from '../sessions/sessions.ts'

interface Row {
  accountId: string
  registrationId: string
  registration: 'confirmed' | 'waitlisted' | 'cancelled'
  webinarId: string
  title: string
  status: WebinarRow['status']
  scheduledAt: Date | null
  streamUrl: string | null
  replayUrl: string | null
  sequence: number
  durationMinutes: number
  timezone: string | null
  description: string
}

/** The registration and webinar of a page. */
export interface Place extends Row {
  /** How its dates are written. */
  locale: Locale
}

const readPlace = preparedStatement<Row>(
  'place-of-token',
  {
    accountId: 'text',
    registrationId: 'text',
    registration: 'text',
    webinarId: 'text',
    title: 'text',
    status: 'text',
    scheduledAt: 'timestamptz',
    streamUrl: 'text',
    replayUrl: 'text',
    sequence: 'int4',
    durationMinutes: 'int4',
    timezone: 'text',
    description: 'text',
  },
  `select r.account_id as "accountId", r.id as "registrationId", r.status as registration, w.id as "webinarId", w.title,
     w.status, w.scheduled_at as "scheduledAt", w.stream_url as "streamUrl",
     w.replay_url as "replayUrl", w.sequence,
     w.duration_minutes as "durationMinutes", w.timezone, w.description
   from webinar_registrations r
   join webinars w on w.account_id = r.account_id and w.id = r.webinar_id
   join ${presentAccounts} a on a.id = r.account_id
   where r.account_id = $1 and r.id = $2 and r.email <> ''`,
)

/** Returns the registration of a link's token, or null if the token is invalid, or the account or person was deleted. */
export const placeOf = async (
  app: App,
  token: string,
  purpose: 'join' | 'waitlist' = 'join',
): Promise<Place | null> => {
  const [accountId, registrationId] = app.tokens.read(purpose, token, app.now().getTime()) ?? []
  if (!accountId || !registrationId) return null
  await requireHere(app, accountId)
  const [place] = await app.sql(readPlace, [accountId, registrationId])
  return place ? { ...place, locale: await readLocale({ sql: app.sql, accountId }, place.timezone) } : null
}
