import { Problem } from '../lib/problem.ts'
import { isBusy, isUnavailable } from '../store/database.ts'
import type { App, Report, Work } from '../store/work.ts'
import { type Held, holdWebinar } from './webinars.find.ts'
import { type Attendee, notify } from './webinars.notify.ts'

/*
 * Each seat knows when its next reminder is due. A daemon that finds it due writes the mail and the next time in one
 * transaction, and the mail's key is of the registration: any number of daemons remind once, after a downtime as well.
 */

const hourMs = 3_600_000
const dayMs = 24 * hourMs

const before = (scheduledAt: Date, ms: number): Date => new Date(scheduledAt.getTime() - ms)

/** When who is seated at `now` is reminded first: a day before, inside the last day an hour before; null: never. */
export const firstReminderAt = ({ status, scheduledAt }: Held, now: Date): Date | null => {
  if (status !== 'scheduled' || !scheduledAt || now >= scheduledAt) return null
  const dayBefore = before(scheduledAt, dayMs)
  return now < dayBefore ? dayBefore : before(scheduledAt, hourMs)
}

/** No reminder of the webinar comes any more. */
export const forgetReminders = async ({ sql, accountId }: Work, webinarId: string): Promise<void> => {
  await sql(
    `update webinar_registrations set remind_at = null
     where account_id = $1 and webinar_id = $2 and remind_at is not null`,
    [accountId, webinarId],
  )
}

const batchSize = 200
const webinarsAtOnce = 100

/** Reminds at most a batch of those in a webinar whose reminder is due; true where there may be more. */
const remindBatch = async (app: App, work: Work, webinarId: string): Promise<boolean> => {
  const { sql, accountId, now } = work
  const webinar = await holdWebinar(work, webinarId, 'share')
  const { status, scheduledAt } = webinar
  if (status !== 'scheduled' || !scheduledAt || now >= scheduledAt) {
    await forgetReminders(work, webinarId)
    return false
  }
  const due = await sql<Attendee>(
    `select id, email, name from webinar_registrations
     where account_id = $1 and webinar_id = $2 and remind_at <= $3 order by id limit ${batchSize} for update skip locked`,
    [accountId, webinarId, now],
  )
  if (due.length === 0) return false
  // Of two that are overdue only the later one goes.
  const hourBefore = before(scheduledAt, hourMs)
  const [kind, nextAt] = now < hourBefore ? ['24h', hourBefore] : ['1h', null]
  await sql('update webinar_registrations set remind_at = $3 where account_id = $1 and id = any($2)', [
    accountId,
    due.map(({ id }) => id),
    nextAt,
  ])
  await notify(app, work, webinar, 'reminder', due, ({ id }) => `reminder:${id}:${kind}`)
  return due.length === batchSize
}

interface DueWebinar {
  accountId: string
  webinarId: string
}

const findDue = ({ sql, now }: App, except: readonly string[]): Promise<DueWebinar[]> =>
  sql<DueWebinar>(
    `select distinct account_id as "accountId", webinar_id as "webinarId" from webinar_registrations
     where remind_at <= $1 and webinar_id <> all($2) limit ${webinarsAtOnce}`,
    [now(), except],
    'due-reminders',
  )

/**
 * Sends all reminders that are due each webinar in units of work of its own. A webinar that fails
 * is reported and its id added to `failed`, which the caller passes again to skip it for a while; one whose rows another
 * transaction has locked is left for the next turn. Rejects while the database is away.
 */
export const remindDue = async (app: App, signal: AbortSignal, report: Report, failed: Set<string>): Promise<void> => {
  for (const { accountId, webinarId } of await findDue(app, [...failed])) {
    try {
      while (
        !signal.aborted &&
        (await app.work(accountId, 'job:webinars', (work) => remindBatch(app, work, webinarId)))
      );
    } catch (error) {
      // A Problem says that the account is being deleted, and its webinars with it.
      if (isBusy(error) || error instanceof Problem) continue
      if (isUnavailable(error)) throw error
      failed.add(webinarId)
      report(error, { accountId, webinarId })
    }
  }
}
