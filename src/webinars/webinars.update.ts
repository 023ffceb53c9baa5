import type { z } from 'zod'
import { conflict, Problem } from '../lib/problem.ts'
import type { RowOf } from '../store/column-types.ts'
import { statement } from '../store/statement.ts'
import { columns } from '../store/tables.ts'
import type { Work } from '../store/work.ts'
import { type Attendee, type MailApp, type Notice, notifyAttendees, withdrawAnnouncements } from './emails/emails.ts'
import { firstReminderAt, scheduleAll } from './reminders/reminders.schedule.ts'
import { fillSeats, requireOpen, seatsToFill } from './seats/places.ts'
import { lockWebinar, readWebinar, viewWebinar, type WebinarRow } from './sessions/sessions.find.ts'
import type { WebinarChange, WebinarView } from './sessions/sessions.shapes.ts'
import { webinarRegistrations, webinars } from './webinars.columns.ts'

type Change = z.output<typeof WebinarChange>

/** The result of a change, and how many people it emails. */
interface WebinarUpdate {
  webinar: WebinarView
  /** People with a seat or on the waitlist who get an email about the new time. */
  moved: number
  /** People who get a seat from the waitlist, and the confirmation. */
  promoted: number
}

const registrantColumns = columns(webinarRegistrations, ['id', 'email', 'name', 'status'])
type Registrant = RowOf<typeof registrantColumns.types>

const readRegistrants = statement(
  'registrants-of-webinar',
  { row: registrantColumns.types, parameters: { accountId: 'text', id: 'text' } },
  `select ${registrantColumns.list} from webinar_registrations
   where account_id = :accountId and webinar_id = :id and status <> 'cancelled' and email <> '' order by number`,
)

const movedKey = (registrationId: string, sequence: number): string => `moved:${registrationId}:${sequence}`

/** The error of an email that says the old time. */
const withdrawnSentence = 'The webinar was moved to a new time'

/**
 * Restarts the reminders for the new time of a locked webinar, and withdraws unsent emails about the old one. Returns the addresses
 * whose first email, the confirmation of a seat or of a place on the waitlist, was among the withdrawn ones.
 */
const restart = async (work: Work, webinar: WebinarRow): Promise<Set<string>> => {
  const { id } = webinar
  await scheduleAll(work, id, firstReminderAt(webinar, work.now))
  const withdrawn = await withdrawAnnouncements(work, id, withdrawnSentence)
  const unaware = withdrawn.filter(
    ({ event, isTaken }) => !isTaken && (event === 'registered' || event === 'waitlisted'),
  )
  return new Set(unaware.map(({ email }) => email))
}

const settingColumns = columns(webinars, [
  'title',
  'scheduledAt',
  'durationMinutes',
  'timezone',
  'description',
  'capacity',
  'streamUrl',
  'replayUrl',
  'sequence',
])

/**
 * Returns the webinar with the changed properties. Throws Problem `usage` for a time in the past, `conflict` if the webinar has ended,
 * was cancelled, or is live and gets a time.
 */
const changed = (webinar: WebinarRow, change: Change, now: Date): WebinarRow => {
  if (change.scheduledAt !== undefined && change.scheduledAt <= now.getTime())
    throw new Problem('usage', 'The new time must be in the future')
  const isOnlyReplay =
    change.replayUrl !== undefined && Object.values(change).filter((to) => to !== undefined).length === 1
  // Nobody has a recording before the end.
  if (webinar.status !== 'ended' || !isOnlyReplay) requireOpen(webinar)
  const { scheduledAt, ...given } = change
  if (scheduledAt !== undefined && webinar.status === 'live')
    throw conflict('The webinar is live: its time can’t be changed')
  const isMoved = scheduledAt !== undefined && scheduledAt !== webinar.scheduledAt?.getTime()
  const time = isMoved ? { scheduledAt: new Date(scheduledAt), sequence: webinar.sequence + 1 } : {}
  return { ...webinar, ...settingColumns.after(webinar, { ...given, ...time }) }
}

const countSeated = statement(
  'count-seated-with-email',
  { row: { seated: 'int8' }, parameters: { accountId: 'text', id: 'text' } },
  `select count(*) as seated from webinar_registrations
   where account_id = :accountId and webinar_id = :id and status = 'confirmed' and email <> ''`,
)

/**
 * Returns what `updateWebinar` would return now. It counts people and locks nothing, because thousands of emails take seconds, in
 * which no other call could send or register. Throws Problem `not_found`, `usage` for a time in the past, `conflict` if the webinar has
 * ended, was cancelled, or is live and gets a time.
 */
export const planUpdate = async (work: Work, id: string, change: Change): Promise<WebinarUpdate> => {
  const { sql, accountId, now } = work
  const before = await readWebinar(work, id)
  const webinar = changed(before, change, now)
  if (settingColumns.isSame(before, webinar)) return { webinar: viewWebinar(before), moved: 0, promoted: 0 }
  const promoted = seatsToFill(webinar)
  const waiting = webinar.waitlistedCount - promoted
  const isMoved = webinar.sequence > before.sequence
  const seated = isMoved ? (await sql(countSeated, { accountId, id }))[0]!.seated : 0
  const registeredCount = webinar.registeredCount + promoted
  const view = viewWebinar({ ...webinar, registeredCount, waitlistedCount: waiting, updatedAt: now })
  return { webinar: view, moved: isMoved ? seated + waiting : 0, promoted }
}

/**
 * Changes a scheduled or live webinar (`svc webinars update`). A new time is emailed to everyone with a seat, with a calendar entry,
 * and to everyone on the waitlist; a confirmation that was not sent yet is sent again with it. The reminders start again. Seats that
 * more capacity frees go to the first on the waitlist, with the confirmation. Less capacity takes no seat away. Throws Problem
 * `not_found`, `usage` for a time in the past, `conflict` if the webinar has ended, was cancelled, or is live and gets a time.
 */
export const updateWebinar = async (app: MailApp, work: Work, id: string, change: Change): Promise<WebinarUpdate> => {
  const { sql, accountId, now } = work
  const before = await lockWebinar(work, id)
  const webinar = changed(before, change, now)
  if (settingColumns.isSame(before, webinar)) return { webinar: viewWebinar(before), moved: 0, promoted: 0 }
  webinar.updatedAt = now
  const [em, { Webinar }] = await work.em(import('./webinars.entities.ts'))
  await em.nativeUpdate(Webinar, { id }, { ...settingColumns.after(webinar, {}), updatedAt: now })
  const isMoved = webinar.sequence > before.sequence
  const registrants = isMoved ? await sql(readRegistrants, { accountId, id }) : []
  const unaware = isMoved ? await restart(work, webinar) : new Set<string>()
  const promoted = await fillSeats(app, work, webinar)
  const seated = registrants.filter(({ status }) => status === 'confirmed')
  const waiting = registrants.filter(
    ({ id: registrationId, status }) => status === 'waitlisted' && !promoted.has(registrationId),
  )
  const keyOf = ({ id: registrationId }: Attendee) => movedKey(registrationId, webinar.sequence)
  const notify = async (people: readonly Registrant[], news: Notice, first: Notice) => {
    const [late, aware] = [true, false].map((isLate) => people.filter(({ email }) => unaware.has(email) === isLate))
    await notifyAttendees(app, work, webinar, news, aware!, keyOf)
    await notifyAttendees(app, work, webinar, first, late!, keyOf)
  }
  await notify(seated, 'moved', 'registered again')
  await notify(waiting, 'moved on the waitlist', 'waitlisted')
  return { webinar: viewWebinar(webinar), moved: seated.length + waiting.length, promoted: promoted.size }
}
