import { setTimeout as sleep } from 'node:timers/promises'
import { allAccounts } from '../../accounts/accounts.rows.ts'
import { singleLocks } from '../../lib/locks.ts'
import type { ForAccount } from '../../store/background.ts'
import { isUnavailable, sqlOn } from '../../store/database.ts'
import { statement } from '../../store/statement.ts'
import type { Report } from '../../store/work.ts'
import type { OpenApp } from '../app.ts'
import { threads } from '../schedule.ts'

interface Limits {
  /** A step is asked to stop after this. */
  stepMs: number
  /** A step that has not ended this much later is abandoned, so that it does not block the other steps. */
  graceMs: number
}

const usualLimits: Limits = { stepMs: 60_000, graceMs: 15_000 }

type Step = (app: OpenApp, signal: AbortSignal) => Promise<unknown>

const listAccounts = statement(
  'accounts-to-keep',
  { row: { id: 'text' } },
  // In another order each time: a run may end before all of them had their turn.
  `select id from ${allAccounts} a order by random()`,
)

/**
 * Does the work for all accounts at once. If that fails, does it for one account after the other, so that an account that
 * fails is reported and does not delay the others. Rejects while the database is unavailable.
 */
const apart =
  ({ runFor }: ForAccount): Step =>
  async (app, signal) => {
    try {
      await runFor(app, { signal, only: null })
    } catch (error) {
      if (isUnavailable(error)) throw error
      let hasFailed = false
      for (const { id } of await app.sql(listAccounts)) {
        if (signal.aborted) break
        await runFor(app, { signal, only: id }).catch((error) => {
          if (isUnavailable(error)) throw error
          hasFailed = true
          app.report(error, { account: id })
        })
      }
      // No account caused the error, or the time ended before its turn.
      if (!hasFailed) throw error
    }
  }

const tryHousekeepingLock = statement(
  'try-housekeeping-lock',
  { row: { isMine: 'bool' } },
  `select pg_try_advisory_lock(${singleLocks.housekeeping}) as "isMine"`,
)

const { jobs: loadSteps } = threads.find((thread) => thread.name === 'housekeeping')!

/** Runs a step within its limits. Rejects if it fails or is abandoned. */
const runStep = async (app: OpenApp, step: Step, signal: AbortSignal, { stepMs, graceMs }: Limits): Promise<void> => {
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
 * Deletes expired data and repeats domain checks, in small batches. One daemon at a time runs it. A step that fails or takes
 * too long is reported and counted once; the other steps still run, and the next run retries it. An account that fails does not
 * delay the others. Ends early at `signal`, or if the connection that holds the lock is lost.
 */
export const runHousekeeping = async (
  app: OpenApp,
  signal: AbortSignal,
  report: Report = app.report,
  limits = usualLimits,
): Promise<void> => {
  const guard = await app.database.connect()
  const lost = new AbortController()
  guard.once('end', () => lost.abort())
  const ending = AbortSignal.any([signal, lost.signal])
  try {
    if (!(await sqlOn(guard)(tryHousekeepingLock))[0]!.isMine) return
    for (const job of await loadSteps()) {
      if (ending.aborted) return
      let hasFailed = false
      const fail: Report = (error, about) => {
        hasFailed = true
        report(error, { step: job.name, ...about })
      }
      await runStep({ ...app, report: fail }, 'runFor' in job ? apart(job) : job.runOnce, ending, limits).catch(
        (error) => fail(error, {}),
      )
      app.counters.count('housekeeping', hasFailed ? 'failed' : 'done')
    }
  } finally {
    await guard.end().catch(() => {})
  }
}
