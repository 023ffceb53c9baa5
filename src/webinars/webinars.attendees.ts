import type { App, Work } from '../store/work.ts'
import type { WebinarRow } from './webinars.find.ts'
import { linksOf } from './webinars.links.ts'

/** A registration in the terminal. Times in epoch ms. */
export interface RegistrationView {
  id: string
  email: string
  name: string
  status: 'confirmed' | 'waitlisted' | 'cancelled'
  /** null if the registration has no seat. */
  joinUrl: string | null
  createdAt: number
  updatedAt: number
}

type Row = Omit<RegistrationView, 'joinUrl' | 'createdAt' | 'updatedAt'> & { createdAt: Date; updatedAt: Date }

interface RegistrationFilter {
  id?: string | undefined
  status?: RegistrationView['status'] | undefined
}

/** Returns the matching registrations of a webinar, oldest first. */
export const listRegistrations = async (
  app: Pick<App, 'config' | 'tokens'>,
  { sql, accountId }: Work,
  webinarId: string,
  { id, status }: RegistrationFilter = {},
): Promise<RegistrationView[]> => {
  const rows = await sql<Row>(
    `select id, email, name, status, created_at as "createdAt", updated_at as "updatedAt" from webinar_registrations
     where account_id = $1 and webinar_id = $2 and ($3::text is null or id = $3) and ($4::text is null or status = $4)
     order by number`,
    [accountId, webinarId, id ?? null, status ?? null],
  )
  return rows.map(({ createdAt, updatedAt, ...row }) => ({
    ...row,
    joinUrl: row.status === 'confirmed' ? linksOf(app, accountId, row.id).join : null,
    createdAt: createdAt.getTime(),
    updatedAt: updatedAt.getTime(),
  }))
}

/** The registration and webinar of a page. */
export interface Place {
  accountId: string
  registrationId: string
  registration: 'confirmed' | 'waitlisted' | 'cancelled'
  webinarId: string
  title: string
  status: WebinarRow['status']
  scheduledAt: Date | null
  streamUrl: string | null
}

/** Returns the registration of a link's token, or null if the token is invalid, or the account or person was deleted. */
export const placeOf = async (
  { sql, tokens, now }: App,
  token: string,
  purpose: 'join' | 'waitlist' = 'join',
): Promise<Place | null> => {
  const [accountId, registrationId] = tokens.read(purpose, token, now().getTime()) ?? []
  if (!accountId || !registrationId) return null
  const [place] = await sql<Place>(
    `select r.account_id as "accountId", r.id as "registrationId", r.status as registration, w.id as "webinarId", w.title,
       w.status, w.scheduled_at as "scheduledAt", w.stream_url as "streamUrl"
     from webinar_registrations r
     join webinars w on w.account_id = r.account_id and w.id = r.webinar_id
     join accounts a on a.id = r.account_id and a.deleted_at is null
     where r.account_id = $1 and r.id = $2 and r.email <> ''`,
    [accountId, registrationId],
    'place-of-token',
  )
  return place ?? null
}
