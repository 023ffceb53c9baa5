import { runQueue } from '../store/queue.ts'
import type { App, Report } from '../store/work.ts'
import { remindDue } from './webinars.remind.ts'

const pollMs = 10_000
/** What failed is tried again after this long. */
const forgetMs = 60_000

/**
 * Sends reminders as they come due, until `signal` is aborted. It looks every ten seconds, and at once when the clock of a
 * development database moves. Any number may run on one database.
 */
export const runReminders = (app: App, signal: AbortSignal, report: Report): Promise<void> =>
  runQueue(
    app.database,
    'svc_clock',
    signal,
    ({ stop }) => {
      const failed = new Set<string>()
      let forgetAt = performance.now() + forgetMs
      return {
        async claim() {
          if (performance.now() >= forgetAt) {
            failed.clear()
            forgetAt = performance.now() + forgetMs
          }
          await app.lookAtClock()
          await remindDue(app, stop, report, failed)
          return undefined
        },
        finish: async () => {},
      }
    },
    pollMs,
  )
