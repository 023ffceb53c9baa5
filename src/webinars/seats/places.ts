import { conflict, notFound, shown } from '../../lib/problem.ts'
import type { RowOf } from '../../store/column-types.ts'
import { statement } from '../../store/statement.ts'
import { columns, types } from '../../store/tables.ts'
import type { Work } from '../../store/work.ts'
import { type Attendee, type MailApp, notifyAttendees, withdrawAnnouncements } from '../emails/emails.ts'
import { firstReminderAt } from '../reminders/reminders.schedule.ts'
import { lockWebinar, type WebinarRow } from '../sessions/sessions.find.ts'
import { webinarRegistrations } from '../webinars.columns.ts'

/*
 * Seats are assigned and freed under the webinar's lock, so capacity is never exceeded and the waitlist is empty while seats are
 * free. The same transaction writes the counts, the emails and the events that start journeys.
 */

export const hasFreeSeat = ({ capacity, registeredCount }: WebinarRow): boolean =>
  capacity === null || registeredCount < capacity

/** Throws Problem `conflict` if the webinar has ended or was cancelled. */
export const requireOpen = ({ status }: WebinarRow): void => {
  if (status === 'ended') throw conflict('The webinar has ended')
  if (status === 'cancelled') throw conflict('The webinar was cancelled')
}

/** Calls the listeners for new seats, then queues the confirmations. */
export const publishSeats = async (
  app: MailApp,
  work: Work,
  webinar: WebinarRow,
  attendees: readonly Attendee[],
): Promise<void> => {
  const { id, title } = webinar
  // In the order in which contacts are locked.
  for (const { email } of attendees.toSorted((a, b) => (a.email < b.email ? -1 : 1)))
    for (const listener of await work.listeners())
      await listener.attendeeRegistered?.(work, { webinar: { id, title }, email })
  await notifyAttendees(app, work, webinar, 'registered', attendees)
}

const moveToSeats = statement(
  'assign-seats',
  { parameters: { accountId: 'text', id: 'text', ids: '_text', remindAt: 'timestamptz?', now: 'timestamptz' } },
  `with counted as (
     update webinars set registered_count = registered_count + cardinality(:ids::text[]),
       waitlisted_count = waitlisted_count - cardinality(:ids::text[])
     where account_id = :accountId and id = :id
   )
   update webinar_registrations set status = 'confirmed', remind_at = :remindAt, updated_at = :now
   where account_id = :accountId and id = any(:ids)`,
)

/** Moves attendees from the waitlist to seats, and updates the counts in `webinar`. */
const assignSeats = async (
  app: MailApp,
  work: Work,
  webinar: WebinarRow,
  attendees: readonly Attendee[],
): Promise<void> => {
  const { sql, accountId, now } = work
  const ids = attendees.map(({ id }) => id)
  await sql(moveToSeats, { accountId, id: webinar.id, ids, remindAt: firstReminderAt(webinar, now), now })
  webinar.registeredCount += attendees.length
  webinar.waitlistedCount -= attendees.length
  await publishSeats(app, work, webinar, attendees)
}

const readFirstWaiting = statement(
  'first-on-waitlist',
  {
    row: types(webinarRegistrations, 'id', 'email', 'name'),
    parameters: { accountId: 'text', webinarId: 'text', count: 'int8' },
  },
  `select id, email, name from webinar_registrations
   where account_id = :accountId and webinar_id = :webinarId and status = 'waitlisted' order by number limit :count`,
)

/** Returns the first attendees on the waitlist, at most `count`, in their order. */
const firstOnWaitlist = ({ sql, accountId }: Work, webinarId: string, count: number): Promise<Attendee[]> =>
  sql(readFirstWaiting, { accountId, webinarId, count })

/** Returns how many people on the waitlist would get a free seat. */
export const seatsToFill = ({ capacity, registeredCount, waitlistedCount }: WebinarRow): number =>
  capacity === null ? waitlistedCount : Math.max(0, Math.min(capacity - registeredCount, waitlistedCount))

/** Moves the first attendees on the waitlist to the free seats of a locked webinar, and emails them the confirmation. Returns their ids. */
export const fillSeats = async (app: MailApp, work: Work, webinar: WebinarRow): Promise<Set<string>> => {
  const free = seatsToFill(webinar)
  const next = free > 0 ? await firstOnWaitlist(work, webinar.id, free) : []
  if (next.length > 0) await assignSeats(app, work, webinar, next)
  return new Set(next.map((attendee) => attendee.id))
}

const registrationColumns = columns(webinarRegistrations, ['id', 'webinarId', 'email', 'name', 'status'])
type Registration = RowOf<typeof registrationColumns.types>

const readRegistration = statement(
  'read-registration',
  { row: registrationColumns.types, parameters: { accountId: 'text', id: 'text' } },
  `select ${registrationColumns.list} from webinar_registrations where account_id = :accountId and id = :id`,
)

/** Locks the registration's webinar, then reads the registration. Returns null for an unknown or foreign id. */
const lockRegistration = async (
  work: Work,
  id: string,
): Promise<{ webinar: WebinarRow; registration: Registration } | null> => {
  const read = () => work.sql(readRegistration, { accountId: work.accountId, id })
  const [found] = await read()
  if (!found) return null
  const webinar = await lockWebinar(work, found.webinarId)
  const [registration] = await read()
  return { webinar, registration: registration! }
}

const leavePlace = statement(
  'vacate-place',
  { parameters: { ...types(webinarRegistrations, 'accountId', 'webinarId', 'id', 'status'), now: 'timestamptz' } },
  `with counted as (
     update webinars set registered_count = registered_count - case when :status = 'confirmed' then 1 else 0 end,
       waitlisted_count = waitlisted_count - case when :status = 'waitlisted' then 1 else 0 end,
       sequence = sequence + case when :status = 'confirmed' then 1 else 0 end
     where account_id = :accountId and id = :webinarId
   )
   update webinar_registrations set status = 'cancelled', remind_at = null, updated_at = :now
   where account_id = :accountId and id = :id`,
)

/** Cancels a registration. A freed seat goes to the first attendee on the waitlist, who gets an email. */
const vacate = async (app: MailApp, work: Work, webinar: WebinarRow, registration: Registration): Promise<void> => {
  const { id, status, email } = registration
  await work.sql(leavePlace, { accountId: work.accountId, webinarId: webinar.id, id, status, now: work.now })
  if (email !== '') await withdrawAnnouncements(work, webinar.id, 'The registration was cancelled', email)
  if (status !== 'confirmed') return
  webinar.registeredCount--
  // The entry's withdrawal needs a higher SEQUENCE than its last version, and an invitation of the same person later is not lower.
  webinar.sequence++
  if (email !== '' && webinar.scheduledAt) await notifyAttendees(app, work, webinar, 'left', [registration])
  await fillSeats(app, work, webinar)
}

/**
 * Cancels a registration. With `place` it cancels only one on the waitlist. Changes nothing if it was already cancelled, or if
 * the webinar has ended or was cancelled.
 */
export const cancelRegistration = async (app: MailApp, work: Work, id: string, place?: 'waitlisted'): Promise<void> => {
  const locked = await lockRegistration(work, id)
  if (!locked) return
  const { webinar, registration } = locked
  const isOver = webinar.status === 'ended' || webinar.status === 'cancelled'
  if (isOver || registration.status === 'cancelled' || registration.status !== (place ?? registration.status)) return
  await vacate(app, work, webinar, registration)
}

/** Locks and returns a registration of the webinar. Throws Problem `not_found`. */
const requireRegistration = async (work: Work, webinarId: string, id: string): Promise<Registration> => {
  const registration = (await lockRegistration(work, id))?.registration
  if (registration?.webinarId === webinarId) return registration
  throw notFound(`The webinar has no registration ${shown(id)}`, { hint: `svc webinars registrations ${webinarId}` })
}

/**
 * Frees the seat of an erased person, who has no link for it. The first attendee on the waitlist gets the seat and an email. Throws
 * Problem `not_found`; `conflict` if the person was not erased, has no seat, or the webinar has ended or was cancelled.
 */
export const freeSeat = async (app: MailApp, work: Work, webinarId: string, registrationId: string): Promise<void> => {
  const webinar = await lockWebinar(work, webinarId)
  requireOpen(webinar)
  const registration = await requireRegistration(work, webinarId, registrationId)
  if (registration.status !== 'confirmed') throw conflict('The registration has no seat')
  if (registration.email !== '')
    throw conflict('The seat belongs to a registrant, whose email has the link that frees it')
  await vacate(app, work, webinar, registration)
}

/**
 * Gives a seat to the registration, or to the first on the waitlist, even beyond the capacity (`svc webinars promote`). Returns its
 * id. If it already has a seat, nothing changes and no email is sent. Throws Problem `not_found`; `conflict` if the waitlist is
 * empty, the registration was cancelled, or the webinar has ended or was cancelled.
 */
export const promoteRegistration = async (
  app: MailApp,
  work: Work,
  webinarId: string,
  registrationId: string | null,
): Promise<string> => {
  const webinar = await lockWebinar(work, webinarId)
  requireOpen(webinar)
  const registration = registrationId === null ? undefined : await requireRegistration(work, webinarId, registrationId)
  if (registration?.status === 'confirmed') return registration.id
  if (registration?.status === 'cancelled') throw conflict('The registration was cancelled')
  const next = registration ?? (await firstOnWaitlist(work, webinarId, 1))[0]
  if (!next) throw conflict('The waitlist is empty')
  await assignSeats(app, work, webinar, [next])
  return next.id
}
