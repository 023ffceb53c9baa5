import { activeAccounts } from '../../accounts/accounts.rows.ts'
import { Problem } from '../../lib/problem.ts'
import { isHeld } from '../../queue/holds.ts'
import { runDue, turnOfAccounts } from '../../queue/loop.ts'
import { defineJob } from '../../store/background.ts'
import { isBusy, isUnavailable } from '../../store/database.ts'
import { preparedStatement } from '../../store/statement.ts'
import type { App, Report } from '../../store/work.ts'
import { pending } from './reminders.rows.ts'

/** Due registrations of each account that a search reads. */
const eachAtOnce = 200

interface DueWebinar {
  accountId: string
  webinarId: string
}

const readFirst = preparedStatement(
  'first-due-reminder',
  { row: { isDue: 'bool' }, parameters: { at: 'timestamptz' } },
  `select remind_at <= :at and not ${isHeld('sends')} as "isDue" from webinar_registrations where ${pending} order by remind_at limit 1`,
)

const readDue = preparedStatement(
  'due-reminders',
  { row: { accountId: 'text', webinarId: 'text' }, parameters: { at: 'timestamptz', except: '_text' } },
  `with recursive ${turnOfAccounts('webinar_registrations', 'remind_at', pending)}
   select distinct d.account_id as "accountId", d.webinar_id as "webinarId"
   from turn t cross join lateral (
     select account_id, webinar_id from webinar_registrations
     where account_id = t.account_id and ${pending} and remind_at <= :at and webinar_id <> all(:except)
     order by remind_at limit ${eachAtOnce}
   ) d
   where t.due <= :at and exists (select from ${activeAccounts} a where a.id = t.account_id)`,
)

/** Returns webinars with due registrations, some of each account. Reads one index entry if nothing is due. Returns none while sends are paused. */
const findDue = async ({ sql, now }: App, except: readonly string[]): Promise<DueWebinar[]> => {
  const at = now()
  const [first] = await sql(readFirst, { at })
  return first?.isDue ? sql(readDue, { at, except }) : []
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
    // Loaded when a reminder is due, which keeps the thread small.
    const { remindBatch } = await import('./remind.ts')
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
  runDue(app, 'reminders', signal, report, (failed) => remindDue(app, signal, report, failed))

export const jobs = [
  defineJob('reminders', {
    every: '10 s',
    does: 'Queues reminders of webinar sessions, and decides who attended one that has ended',
    run: runReminders,
  }),
]
