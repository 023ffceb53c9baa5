import { countUse } from '../accounts/accounts.ts'
import { conflict } from '../lib/problem.ts'
import { deleteBindings, withdrawLifecycleMails } from '../lifecycle/lifecycle.ts'
import { statement } from '../store/statement.ts'
import { columns } from '../store/tables.ts'
import type { Work } from '../store/work.ts'
import { planOutcome } from './attendance/outcome.ts'
import { type MailApp, notifyAttendees, withdrawAnnouncements } from './emails/emails.ts'
import { cancelReminders, scheduleAll } from './reminders/reminders.schedule.ts'
import { requireLive } from './sessions/create.ts'
import { lockWebinar, readWebinar, viewWebinar, type WebinarRow } from './sessions/sessions.find.ts'
import type { WebinarView } from './sessions/sessions.shapes.ts'
import { webinarRegistrations } from './webinars.columns.ts'

type Change = Partial<Pick<WebinarRow, 'status' | 'startedAt' | 'endedAt' | 'streamUrl' | 'sequence'>>

const change = async (work: Work, webinar: WebinarRow, to: Change): Promise<WebinarView> => {
  const [em, { Webinar }] = await work.em(import('./webinars.entities.ts'))
  const values = { ...to, updatedAt: work.now }
  await em.nativeUpdate(Webinar, { id: webinar.id }, values)
  return viewWebinar({ ...webinar, ...values })
}

const cancelledText = 'The webinar was cancelled'
const closedTexts: Partial<Record<WebinarRow['status'], string>> = {
  ended: 'The webinar has ended',
  cancelled: cancelledText,
}

/**
 * Starts the session: the join page shows the stream, reminders stop, and unsent ones are withdrawn. Checks the quota again. Throws
 * Problem `not_found`, `conflict` unless the webinar is scheduled, `forbidden` by the live-session quota.
 */
export const startWebinar = async (
  work: Work,
  id: string,
  { streamUrl }: { streamUrl?: string | undefined } = {},
): Promise<WebinarView> => {
  const webinar = await lockWebinar(work, id)
  if (webinar.status !== 'scheduled') throw conflict(closedTexts[webinar.status] ?? 'The webinar is live already')
  await requireLive(work, { withCourse: webinar.courseId !== null })
  await cancelReminders(work, id)
  await withdrawLifecycleMails(work, { kind: 'webinar', id }, ['reminder'], 'The session has begun')
  return change(work, webinar, { status: 'live', startedAt: work.now, ...(streamUrl !== undefined && { streamUrl }) })
}

/** Counts the broadcast's minutes, rounded up, even beyond the quota: the broadcast has already happened. Call it last in the unit of work. */
const countBroadcast = async (work: Work, startedAt: Date): Promise<void> => {
  const minutes = Math.ceil((work.now.getTime() - startedAt.getTime()) / 60_000)
  if (minutes > 0) await countUse(work, 'broadcastMinutes', minutes)
}

/** Returns when a live webinar started. Throws Problem `conflict` if it is not live. */
const requireStarted = ({ id, status, startedAt }: WebinarRow): Date => {
  if (status === 'live' && startedAt) return startedAt
  throw conflict(
    closedTexts[status] ?? 'The webinar has not started',
    status === 'scheduled' ? { hint: `svc webinars start ${id}` } : {},
  )
}

/** Within this time daemons store the reports that they received before the end. */
const lateReportsMs = 5_000

/**
 * Ends the session and counts its minutes. A job then decides who attended, emails them if that is bound, and starts journeys. Throws
 * Problem `not_found`, or `conflict` if it is not live.
 */
export const endWebinar = async (work: Work, id: string): Promise<WebinarView> => {
  const webinar = await lockWebinar(work, id)
  const startedAt = requireStarted(webinar)
  const view = await change(work, webinar, { status: 'ended', endedAt: work.now })
  await scheduleAll(work, id, new Date(work.now.getTime() + lateReportsMs))
  await countBroadcast(work, startedAt)
  return view
}

/** Returns how many people `endWebinar` would email. Locks nothing, because the operator may think about the answer, and throws as `endWebinar`. */
export const planEnd = async (work: Work, id: string): Promise<{ mails: number }> => {
  requireStarted(await readWebinar(work, id))
  return planOutcome(work, id)
}

const attendeeColumns = columns(webinarRegistrations, ['id', 'email', 'name', 'status'])

const readAttendees = statement(
  'attendees-of-webinar',
  { row: attendeeColumns.types, parameters: { accountId: 'text', id: 'text' } },
  `select ${attendeeColumns.list} from webinar_registrations
   where account_id = :accountId and webinar_id = :id and status <> 'cancelled' and email <> '' order by number`,
)

const requireScheduled = ({ id, status }: Pick<WebinarRow, 'id' | 'status'>): void => {
  if (status !== 'scheduled') {
    throw conflict(
      closedTexts[status] ?? 'The webinar is live',
      status === 'live' ? { hint: `svc webinars end ${id}` } : {},
    )
  }
}

const countAttendees = statement(
  'count-attendees-of-webinar',
  { row: { mails: 'int8' }, parameters: { accountId: 'text', id: 'text' } },
  `select count(*) as mails from webinar_registrations
   where account_id = :accountId and webinar_id = :id and status <> 'cancelled' and email <> ''`,
)

/**
 * Returns how many people `cancelWebinar` would email. Locks nothing, because the operator may think about the answer, and throws as
 * `cancelWebinar`.
 */
export const planCancellation = async (work: Work, id: string): Promise<{ mails: number }> => {
  requireScheduled(await readWebinar(work, id))
  return (await work.sql(countAttendees, { accountId: work.accountId, id }))[0]!
}

/**
 * Cancels the session, withdraws unsent emails about it, and queues a plain email to everyone with a seat or on the waitlist. Throws
 * Problem `not_found`, or `conflict` unless the webinar is scheduled.
 */
export const cancelWebinar = async (app: MailApp, work: Work, id: string): Promise<WebinarView> => {
  const webinar = await lockWebinar(work, id)
  requireScheduled(webinar)
  await cancelReminders(work, id)
  await withdrawAnnouncements(work, id, cancelledText)
  const view = await change(work, webinar, { status: 'cancelled', sequence: webinar.sequence + 1 })
  const cancelled = { ...webinar, sequence: webinar.sequence + 1 }
  const attendees = await work.sql(readAttendees, { accountId: work.accountId, id })
  const of = (place: string) => attendees.filter(({ status }) => status === place)
  await notifyAttendees(app, work, cancelled, 'cancelled', of('confirmed'))
  await notifyAttendees(app, work, cancelled, 'cancelled on the waitlist', of('waitlisted'))
  return view
}

/**
 * Deletes a webinar that is over or has no registrations, with its bindings and all data of its registrations. Emails stay in the
 * record of sends, and unsent ones are sent. The minutes of a live one are counted. Returns the number of registrations, including
 * cancelled ones. Throws Problem `not_found`, `conflict` if people are registered and it is not over.
 */
export const deleteWebinar = async (work: Work, id: string): Promise<{ registrations: number }> => {
  const { status, startedAt, registeredCount, waitlistedCount } = await lockWebinar(work, id)
  const isOver = status === 'ended' || status === 'cancelled'
  if (!isOver && registeredCount + waitlistedCount > 0)
    throw conflict('People are registered for the webinar', {
      hint: `svc webinars ${status === 'live' ? 'end' : 'cancel'} ${id}`,
    })
  const [em, { Webinar, WebinarRegistration }] = await work.em(import('./webinars.entities.ts'))
  const registrations = await em.nativeDelete(WebinarRegistration, { webinarId: id })
  await deleteBindings(work, { kind: 'webinar', id })
  await em.nativeDelete(Webinar, { id })
  if (status === 'live' && startedAt) await countBroadcast(work, startedAt)
  return { registrations }
}
