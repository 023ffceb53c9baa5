import { activeAccounts } from '../../accounts/accounts.ts'
import { Problem } from '../../lib/problem.ts'
import { turnOfAccounts } from '../../queue/due.ts'
import { runDue } from '../../queue/loop.ts'
import { isBusy, isUnavailable } from '../../store/database.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import type { App, Report, Work } from '../../store/work.ts'
import { publishOutcome } from '../attendance/attendance.ts'
import { type Attendee, notifyAttendees } from '../emails/emails.ts'
import { lockWebinar, type WebinarRow } from '../sessions/sessions.ts'
import { cancelReminders, hourBefore, reminderKey } from './schedule.ts'

const batchSize = 200
/** Due registrations of each account that a search reads. */
const eachAtOnce = 200

const lockDue = statement<Attendee>(
  'lock-due-reminders',
  { id: 'text', email: 'text', name: 'text' },
  `select id, email, name from webinar_registrations
   where account_id = $1 and webinar_id = $2 and remind_at <= $3 order by id limit ${batchSize} for update skip locked`,
)

const scheduleNext = statement(
  'schedule-next-reminders',
  {},
  'update webinar_registrations set remind_at = $3 where account_id = $1 and id = any($2)',
)

/** Decides who attended an ended webinar, at most a batch of its registrations. Returns whether more may be due. */
const decideBatch = async (app: App, work: Work, webinar: WebinarRow): Promise<boolean> => {
  const due = await work.sql(lockDue, [work.accountId, webinar.id, work.now])
  const ids = due.map(({ id }) => id)
  if (ids.length > 0) await publishOutcome(app, work, webinar, ids)
  return due.length === batchSize
}

/** Sends at most a batch of a webinar's due reminders; after its end, decides who attended. Returns whether more may be due. */
const remindBatch = async (app: App, work: Work, webinarId: string): Promise<boolean> => {
  const { sql, accountId, now } = work
  const webinar = await lockWebinar(work, webinarId, 'read')
  const { status, scheduledAt, sequence } = webinar
  if (status === 'ended') return decideBatch(app, work, webinar)
  if (status !== 'scheduled' || !scheduledAt || now >= scheduledAt) {
    await cancelReminders(work, webinarId)
    return false
  }
  const due = await sql(lockDue, [accountId, webinarId, now])
  if (due.length === 0) return false
  // If both reminders are overdue, only the later one is sent.
  const lastAt = hourBefore(scheduledAt)
  const [kind, nextAt] = now < lastAt ? (['24h', lastAt] as const) : (['1h', null] as const)
  const ids = due.map(({ id }) => id)
  await sql(scheduleNext, [accountId, ids, nextAt])
  await notifyAttendees(app, work, webinar, 'reminder', due, ({ id }) => reminderKey(id, kind, sequence))
  return due.length === batchSize
}

interface DueWebinar {
  accountId: string
  webinarId: string
}

const pending = 'remind_at is not null'

const readFirst = preparedStatement<{ isDue: boolean }>(
  'first-due-reminder',
  { isDue: 'bool' },
  `select remind_at <= $1 as "isDue" from webinar_registrations where ${pending} order by remind_at limit 1`,
)

const readDue = preparedStatement<DueWebinar>(
  'due-reminders',
  { accountId: 'text', webinarId: 'text' },
  `with recursive ${turnOfAccounts('webinar_registrations', 'remind_at', pending)}
   select distinct d.account_id as "accountId", d.webinar_id as "webinarId"
   from turn t cross join lateral (
     select account_id, webinar_id from webinar_registrations
     where account_id = t.account_id and ${pending} and remind_at <= $1 and webinar_id <> all($2)
     order by remind_at limit ${eachAtOnce}
   ) d
   where t.due <= $1 and exists (select from ${activeAccounts} a where a.id = t.account_id)`,
)

/** Returns webinars with due registrations, some of each account. Reads one index entry if nothing is due. */
const findDue = async ({ sql, now }: App, except: readonly string[]): Promise<DueWebinar[]> => {
  const at = now()
  const [first] = await sql(readFirst, [at])
  return first?.isDue ? sql(readDue, [at, except]) : []
}

/**
 * Sends all due reminders, and decides who attended ended webinars, each webinar in its own units of work. A webinar that fails is
 * reported and added to `failed`, which the caller passes again to skip it for a while. A webinar with locked rows waits for the next
 * turn. Rejects while the database is unavailable.
 */
export const remindDue = async (app: App, signal: AbortSignal, report: Report, failed: Set<string>): Promise<void> => {
  const skipped = new Set(failed)
  const remind = async ({ accountId, webinarId }: DueWebinar): Promise<void> => {
    skipped.add(webinarId)
    try {
      while (
        !signal.aborted &&
        (await app.work(accountId, 'job:webinars', (work) => remindBatch(app, work, webinarId)))
      );
    } catch (error) {
      // A Problem means that the account or the webinar was deleted.
      if (isBusy(error) || error instanceof Problem) return
      if (isUnavailable(error)) throw error
      failed.add(webinarId)
      report(error, { accountId, webinarId })
    }
  }
  for (let due = await findDue(app, [...skipped]); due.length > 0; due = await findDue(app, [...skipped])) {
    for (const webinar of due) {
      if (signal.aborted) return
      await remind(webinar)
    }
  }
}

/** Runs `remindDue` until `signal` is aborted. */
export const runReminders = (app: App, signal: AbortSignal, report: Report): Promise<void> =>
  runDue(app, signal, report, (failed) => remindDue(app, signal, report, failed))
