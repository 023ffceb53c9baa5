import { setTimeout as sleep } from 'node:timers/promises'
import { purgeRateWindows } from '../accounts/accounts.ts'
import {
  finishListDeletions,
  purgeAccessLog,
  purgeImports,
  purgeMailDomains,
  recheckDomains,
} from '../contacts/contacts.ts'
import { purgeDeliveries, purgeTargets } from '../deliveries/deliveries.purge.ts'
import { dropTexts } from '../engagement/engagement.retention.ts'
import { purgeRuns, purgeVersions } from '../journeys/journeys.purge.ts'
import { dropContents } from '../messages/messages.retention.ts'
import { singleLocks } from '../store/locks.ts'
import type { App, Report } from '../store/work.ts'

const day = 86_400_000
/** Deliveries with their attempts, and the events behind them, are kept this long after they ended. */
const deliveryRetentionDays = 30

/** The same day `months` months ago, or the last day of that month if it has no such day. */
const monthsBefore = (at: Date, months: number): Date => {
  const before = new Date(at)
  before.setUTCMonth(at.getUTCMonth() - months)
  if (before.getUTCDate() !== at.getUTCDate()) before.setUTCDate(0)
  return before
}

interface Limits {
  /** A step is asked to stop after this. */
  stepMs: number
  /** And left behind this much later: what hangs must not keep the other steps waiting. */
  graceMs: number
}

const usualLimits: Limits = { stepMs: 60_000, graceMs: 15_000 }

type Step = (app: App, signal: AbortSignal) => Promise<unknown>

/** In their order. None needs what another one does. */
const stepsOf = ({ config, now: clock }: App): Record<string, Step> => {
  const now = clock()
  const daysBefore = (days: number) => new Date(now.getTime() - days * day)
  const { journeyRetentionDays, accessLogRetentionMonths, importRetentionDays, rejectRetentionDays } = config
  return {
    'list deletions': finishListDeletions,
    'domain checks': recheckDomains,
    deliveries: (app, signal) => purgeDeliveries(app, daysBefore(deliveryRetentionDays), signal),
    'delivery targets': (app, signal) => purgeTargets(app, daysBefore(deliveryRetentionDays), signal),
    'journey runs': (app, signal) => purgeRuns(app, daysBefore(journeyRetentionDays), signal),
    'journey versions': purgeVersions,
    ...(config.messageRetentionDays > 0 && {
      'message contents': (app, signal) => dropContents(app, daysBefore(config.messageRetentionDays), signal),
    }),
    ...(config.responseRetentionDays > 0 && {
      'response texts': (app, signal) => dropTexts(app, daysBefore(config.responseRetentionDays), signal),
    }),
    'access log': (app, signal) => purgeAccessLog(app, monthsBefore(now, accessLogRetentionMonths), signal),
    imports: (app, signal) =>
      purgeImports(app, daysBefore(importRetentionDays), daysBefore(rejectRetentionDays), signal),
    'mail domains': (app, signal) => purgeMailDomains(app, daysBefore(1), signal),
    'rate windows': purgeRateWindows,
  }
}

/** Runs a step to its end, or to the end of its time. Rejects if it fails, or is left behind. */
const runStep = async (app: App, step: Step, signal: AbortSignal, { stepMs, graceMs }: Limits): Promise<void> => {
  const settled = new AbortController()
  const running = step(app, AbortSignal.any([signal, AbortSignal.timeout(stepMs)]))
  const overdue = sleep(stepMs + graceMs, undefined, { signal: settled.signal }).then(() => {
    throw new Error('It did not end in time')
  })
  try {
    await Promise.race([running, overdue])
  } finally {
    settled.abort()
    running.catch(() => {})
    overdue.catch(() => {})
  }
}

/**
 * Keeps the database small and its verdicts fresh, in small batches. One daemon does it at a time. A step that fails, or takes
 * too long, is reported and counted once, and the others run all the same; the next minute tries it again. Ends early at
 * `signal`, and if the connection that holds the lock is lost.
 */
export const keepHouse = async (
  app: App,
  signal: AbortSignal,
  report: Report = app.report,
  limits = usualLimits,
): Promise<void> => {
  const guard = await app.database.connect()
  const lost = new AbortController()
  guard.once('end', () => lost.abort())
  const ending = AbortSignal.any([signal, lost.signal])
  try {
    const { rows } = await guard.query('select pg_try_advisory_lock($1) as mine', [singleLocks.housekeeping])
    if (!rows[0].mine) return
    for (const [name, step] of Object.entries(stepsOf(app))) {
      if (ending.aborted) return
      try {
        await runStep(app, step, ending, limits)
        app.tallies.count('housekeeping', 'done')
      } catch (error) {
        app.tallies.count('housekeeping', 'failed')
        report(error, { step: name })
      }
    }
  } finally {
    await guard.end().catch(() => {})
  }
}
