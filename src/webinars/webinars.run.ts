import { conflict } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'
import { type Held, holdWebinar, viewWebinar } from './webinars.find.ts'
import { type Attendee, type MailApp, notify } from './webinars.notify.ts'
import { countBroadcast, demandLive } from './webinars.quota.ts'
import { forgetReminders } from './webinars.remind.ts'
import type { WebinarView } from './webinars.shapes.ts'

type Change = Partial<Pick<Held, 'status' | 'startedAt' | 'endedAt' | 'streamUrl'>>

const change = async ({ sql, accountId, now }: Work, webinar: Held, to: Change): Promise<WebinarView> => {
  const { status, startedAt, endedAt, streamUrl } = { ...webinar, ...to }
  await sql(
    `update webinars set status = $3, started_at = $4, ended_at = $5, stream_url = $6, updated_at = $7
     where account_id = $1 and id = $2`,
    [accountId, webinar.id, status, startedAt, endedAt, streamUrl, now],
  )
  return viewWebinar({ ...webinar, ...to, updatedAt: now })
}

const over: Partial<Record<Held['status'], string>> = {
  ended: 'The webinar has ended',
  cancelled: 'The webinar was cancelled',
}

/**
 * The session is live: its join page shows the stream, and no reminder comes any more. The plan's minutes are looked at again.
 * Throws Problem `missing`, `conflict` where it is no longer to come, `forbidden` by the live-session quota.
 */
export const startWebinar = async (
  work: Work,
  id: string,
  { streamUrl }: { streamUrl?: string | undefined } = {},
): Promise<WebinarView> => {
  const webinar = await holdWebinar(work, id)
  if (webinar.status !== 'scheduled') throw conflict(over[webinar.status] ?? 'The webinar is live already')
  await demandLive(work, { withCourse: webinar.courseId !== null })
  await forgetReminders(work, id)
  return change(work, webinar, { status: 'live', startedAt: work.now, ...(streamUrl !== undefined && { streamUrl }) })
}

/** The session is over; its minutes from start to end are counted. Throws Problem `missing`, `conflict` where it is not live. */
export const endWebinar = async (work: Work, id: string): Promise<WebinarView> => {
  const webinar = await holdWebinar(work, id)
  if (webinar.status !== 'live' || !webinar.startedAt) {
    throw conflict(
      over[webinar.status] ?? 'The webinar has not started',
      webinar.status === 'scheduled' ? { hint: `svc webinars start ${id}` } : {},
    )
  }
  const view = await change(work, webinar, { status: 'ended', endedAt: work.now })
  await countBroadcast(work, webinar.startedAt)
  return view
}

/**
 * The session won't take place: all who have a seat or wait for one are told so by a plain mail. Throws Problem `missing`,
 * `conflict` where it is no longer to come.
 */
export const cancelWebinar = async (app: MailApp, work: Work, id: string): Promise<WebinarView> => {
  const webinar = await holdWebinar(work, id)
  if (webinar.status !== 'scheduled') {
    throw conflict(
      over[webinar.status] ?? 'The webinar is live',
      webinar.status === 'live' ? { hint: `svc webinars end ${id}` } : {},
    )
  }
  await forgetReminders(work, id)
  const view = await change(work, webinar, { status: 'cancelled' })
  const attendees = await work.sql<Attendee>(
    `select id, email, name from webinar_registrations
     where account_id = $1 and webinar_id = $2 and status <> 'cancelled' and email <> '' order by number`,
    [work.accountId, id],
  )
  await notify(app, work, webinar, 'cancelled', attendees)
  return view
}
