import { presentAccounts } from '../../accounts/accounts.rows.ts'
import { readLocale, requireHere } from '../../accounts/accounts.ts'
import type { Locale } from '../../lib/dates.ts'
import type { RowOf } from '../../store/column-types.ts'
import { preparedStatement } from '../../store/statement.ts'
import { columns, types } from '../../store/tables.ts'
import type { App } from '../../store/work.ts'
import { coverNames } from '../sessions/sessions.cover.ts'
import { webinarRegistrations, webinars } from '../webinars.columns.ts'

const shownColumns = columns(
  webinars,
  [
    'title',
    'status',
    'scheduledAt',
    'streamUrl',
    'replayUrl',
    'sequence',
    'durationMinutes',
    'timezone',
    'description',
    ...coverNames,
  ],
  'w',
)

const rowTypes = {
  ...types(webinarRegistrations, 'accountId', 'webinarId'),
  registrationId: 'text',
  registration: webinarRegistrations.columns.status,
  ...shownColumns.types,
} as const

/** The registration and webinar of a page. */
export interface Place extends RowOf<typeof rowTypes> {
  /** How its dates are written. */
  locale: Locale
}

const readPlace = preparedStatement(
  'place-of-token',
  {
    row: rowTypes,
    parameters: { accountId: 'text', registrationId: 'text' },
  },
  `select r.account_id as "accountId", r.id as "registrationId", r.status as registration,
     w.id as "webinarId", ${shownColumns.list}
   from webinar_registrations r
   join webinars w on w.account_id = r.account_id and w.id = r.webinar_id
   join ${presentAccounts} a on a.id = r.account_id
   where r.account_id = :accountId and r.id = :registrationId and r.email <> ''`,
)

/** Returns the registration of a link's token, or null if the token is invalid, or the account or person was deleted. */
export const placeOf = async (app: App, token: string, purpose: 'join' | 'waitlist'): Promise<Place | null> => {
  const [accountId, registrationId] = app.tokens.read(purpose, token, app.now().getTime()) ?? []
  if (!accountId || !registrationId) return null
  await requireHere(app, accountId)
  const [place] = await app.sql(readPlace, { accountId, registrationId })
  return place ? { ...place, locale: await readLocale({ sql: app.sql, accountId }, place.timezone) } : null
}
