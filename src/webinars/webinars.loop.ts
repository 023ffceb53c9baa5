import { runSchedule } from '../queue/loop.ts'
import type { App, Report } from '../store/work.ts'
import { remindDue } from './webinars.remind.ts'

const pollMs = 10_000
/** A webinar whose reminders failed is tried again after this long. */
const forgetMs = 60_000

/**
 * Sends reminders as they come due, until `signal` is aborted. It looks every ten seconds, and at once when the clock of a
 * development database moves. Any number of processes may run it on one database.
 */
export const runReminders = (app: App, signal: AbortSignal, report: Report): Promise<void> =>
  runSchedule(app, 'svc_clock', signal, report, () => {
    const failed = new Set<string>()
    let forgetAt = performance.now() + forgetMs
    return {
      async turn() {
        if (performance.now() >= forgetAt) {
          failed.clear()
          forgetAt = performance.now() + forgetMs
        }
        await app.lookAtClock()
        await remindDue(app, signal, report, failed)
        return pollMs
      },
    }
  })
