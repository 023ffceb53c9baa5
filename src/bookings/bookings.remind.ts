import { activeAccounts } from '../accounts/accounts.rows.ts'
import { Problem } from '../lib/problem.ts'
import { isHeld } from '../queue/holds.ts'
import { runDue, turnOfAccounts } from '../queue/loop.ts'
import { defineJob } from '../store/background.ts'
import { isBusy, isUnavailable } from '../store/database.ts'
import { preparedStatement } from '../store/statement.ts'
import type { App, Report } from '../store/work.ts'

interface Due {
  accountId: string
  id: string
}

const pending = 'remind_at is not null'

const readFirst = preparedStatement(
  'first-due-booking-reminder',
  { row: { isDue: 'bool' }, parameters: { at: 'timestamptz' } },
  `select remind_at <= :at and not ${isHeld('sends')} as "isDue" from bookings where ${pending} order by remind_at limit 1`,
)

/** Whether the first pending reminder is due. */
export const isBookingReminderDue = `
  select remind_at <= svc_now() and not ${isHeld('sends')} from bookings where ${pending} order by remind_at limit 1`

const readDue = preparedStatement(
  'due-booking-reminders',
  { row: { accountId: 'text', id: 'text' }, parameters: { at: 'timestamptz', except: '_text' } },
  `with recursive ${turnOfAccounts('bookings', 'remind_at', pending)}
   select d.account_id as "accountId", d.id
   from turn t cross join lateral (
     select account_id, id from bookings
     where account_id = t.account_id and ${pending} and remind_at <= :at and id <> all(:except)
     order by remind_at limit 200
   ) d
   where t.due <= :at and exists (select from ${activeAccounts} a where a.id = t.account_id)`,
)

/** Returns due bookings, some of each account. Reads one index entry if nothing is due. Returns none while sends are paused. */
const findDue = async ({ sql, now }: App, except: readonly string[]): Promise<Due[]> => {
  const at = now()
  const [first] = await sql(readFirst, { at })
  return first?.isDue ? sql(readDue, { at, except }) : []
}

/**
 * Sends all due reminders of bookings, each in its own unit of work. A booking that fails is reported and added to `failed`, which the
 * caller passes again to skip it for a while. A locked booking waits for the next turn. Rejects while the database is unavailable.
 */
export const remindBookings = async (
  app: App,
  signal: AbortSignal,
  report: Report,
  failed: Set<string>,
): Promise<void> => {
  const skipped = new Set(failed)
  for (;;) {
    const due = await findDue(app, [...skipped])
    if (due.length === 0) return
    // Loaded when a reminder is due, which keeps the thread small.
    const { remind } = await import('./bookings.reminder.ts')
    for (const { accountId, id } of due) {
      if (signal.aborted) return
      skipped.add(id)
      try {
        await app.work(accountId, 'job:bookings', (work) => remind(app, work, id))
      } catch (error) {
        // A Problem means that the account was deleted.
        if (isBusy(error) || error instanceof Problem) continue
        if (isUnavailable(error)) throw error
        failed.add(id)
        report(error, { accountId, booking: id })
      }
    }
  }
}

/** Sends due reminders of bookings until `signal` is aborted. */
export const runBookingReminders = (app: App, signal: AbortSignal, report: Report): Promise<void> =>
  runDue(app, 'booking reminders', signal, report, (failed) => remindBookings(app, signal, report, failed))

export const jobs = [
  defineJob('booking reminders', {
    every: '10 s',
    does: 'Queues reminders of bookings',
    run: runBookingReminders,
  }),
]
