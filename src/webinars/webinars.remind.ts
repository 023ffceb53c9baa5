import { Problem } from '../lib/problem.ts'
import { isBusy, isUnavailable } from '../store/database.ts'
import { statement } from '../store/statement.ts'
import type { App, Report, Work } from '../store/work.ts'
import { lockWebinar, type WebinarRow } from './webinars.find.ts'
import { type Attendee, notifyAttendees } from './webinars.notify.ts'

/*
 * Each registration stores the time of its next reminder. A daemon writes the email and the next time in one transaction, and the
 * email's key contains the registration, so each reminder is sent once, with any number of daemons and after a downtime.
 */

const hourMs = 3_600_000
const dayMs = 24 * hourMs

const before = (scheduledAt: Date, ms: number): Date => new Date(scheduledAt.getTime() - ms)

/** Minimum time between the confirmation, which has the same content, and a reminder. */
const minGapMs = 15 * 60_000

/**
 * Returns when an attendee who gets a seat at `now` is first reminded: a day before, or within the last day an hour before, but
 * not right after the confirmation. null: never.
 */
export const firstReminderAt = ({ status, scheduledAt }: WebinarRow, now: Date): Date | null => {
  if (status !== 'scheduled' || !scheduledAt) return null
  const dayBefore = before(scheduledAt, dayMs)
  const dueAt = now < dayBefore ? dayBefore : before(scheduledAt, hourMs)
  const at = new Date(Math.max(dueAt.getTime(), now.getTime() + minGapMs))
  return at < scheduledAt ? at : null
}

/** Cancels all pending reminders of the webinar. */
export const cancelReminders = async ({ sql, accountId }: Work, webinarId: string): Promise<void> => {
  await sql(
    `update webinar_registrations set remind_at = null
     where account_id = $1 and webinar_id = $2 and remind_at is not null`,
    [accountId, webinarId],
  )
}

const batchSize = 200
const webinarsAtOnce = 100

/** Sends at most a batch of a webinar's due reminders. Returns whether more may be due. */
const remindBatch = async (app: App, work: Work, webinarId: string): Promise<boolean> => {
  const { sql, accountId, now } = work
  const webinar = await lockWebinar(work, webinarId, 'read')
  const { status, scheduledAt } = webinar
  if (status !== 'scheduled' || !scheduledAt || now >= scheduledAt) {
    await cancelReminders(work, webinarId)
    return false
  }
  const due = await sql<Attendee>(
    `select id, email, name from webinar_registrations
     where account_id = $1 and webinar_id = $2 and remind_at <= $3 order by id limit ${batchSize} for update skip locked`,
    [accountId, webinarId, now],
  )
  if (due.length === 0) return false
  // If both reminders are overdue, only the later one is sent.
  const hourBefore = before(scheduledAt, hourMs)
  const [kind, nextAt] = now < hourBefore ? ['24h', hourBefore] : ['1h', null]
  await sql('update webinar_registrations set remind_at = $3 where account_id = $1 and id = any($2)', [
    accountId,
    due.map(({ id }) => id),
    nextAt,
  ])
  await notifyAttendees(app, work, webinar, 'reminder', due, ({ id }) => `reminder:${id}:${kind}`)
  return due.length === batchSize
}

interface DueWebinar {
  accountId: string
  webinarId: string
}

const readDue = statement<DueWebinar>(
  'due-reminders',
  { accountId: 'text', webinarId: 'text' },
  `select distinct account_id as "accountId", webinar_id as "webinarId" from webinar_registrations
   where remind_at <= $1 and webinar_id <> all($2) limit ${webinarsAtOnce}`,
)

const findDue = ({ sql, now }: App, except: readonly string[]): Promise<DueWebinar[]> => sql(readDue, [now(), except])

/**
 * Sends all due reminders, each webinar in its own units of work. A webinar that fails is reported and added to `failed`, which the
 * caller passes again to skip it for a while. A webinar with locked rows waits for the next turn. Rejects while the database is
 * unavailable.
 */
export const remindDue = async (app: App, signal: AbortSignal, report: Report, failed: Set<string>): Promise<void> => {
  for (const { accountId, webinarId } of await findDue(app, [...failed])) {
    try {
      while (
        !signal.aborted &&
        (await app.work(accountId, 'job:webinars', (work) => remindBatch(app, work, webinarId)))
      );
    } catch (error) {
      // A Problem means that the account or the webinar was deleted.
      if (isBusy(error) || error instanceof Problem) continue
      if (isUnavailable(error)) throw error
      failed.add(webinarId)
      report(error, { accountId, webinarId })
    }
  }
}
