import { runSchedule } from '../queue/loop.ts'
import type { App, Report } from '../store/work.ts'
import { remindDue } from './webinars.remind.ts'

const pollMs = 10_000
/** Webinars whose reminders failed are skipped for this time. */
const skipMs = 60_000

/**
 * Sends due reminders until `signal` is aborted. It polls every ten seconds, and immediately after the clock of a development
 * database is moved. Any number of processes can run it on one database.
 */
export const runReminders = (app: App, signal: AbortSignal, report: Report): Promise<void> =>
  runSchedule(app, null, signal, report, ({ ring }) => {
    const finish = app.onClockMoved(ring)
    const failed = new Set<string>()
    let retryAt = performance.now() + skipMs
    return {
      async turn() {
        if (performance.now() >= retryAt) {
          failed.clear()
          retryAt = performance.now() + skipMs
        }
        await remindDue(app, signal, report, failed)
        return pollMs
      },
      finish,
    }
  })
