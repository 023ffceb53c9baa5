import { setTimeout as sleep } from 'node:timers/promises'
import { allAccounts, finishAccountDeletions, purgeRateWindows } from '../../accounts/accounts.ts'
import { purgeActivities } from '../../activity/activity.purge.ts'
import { purgeBusyTimes } from '../../bookings/bookings.busy.ts'
import {
  finishListDeletions,
  purgeAccessLog,
  purgeImports,
  purgeMailDomains,
  recheckDomains,
} from '../../contacts/contacts.ts'
import { finishCourseDeletions } from '../../courses/courses.delete.ts'
import { forgetFormerSecrets, purgeDeliveries, purgeTargets } from '../../deliveries/deliveries.purge.ts'
import { dropTexts } from '../../engagement/interactions/interactions.ts'
import { purgeSignups, resendFailedLinks } from '../../forms/forms.link.ts'
import { finishFormDeletions } from '../../forms/forms.stats.ts'
import { finishJourneyDeletions } from '../../journeys/journeys.cancel.ts'
import { dropRunData, purgeRuns, purgeVersions } from '../../journeys/journeys.purge.ts'
import { singleLocks } from '../../lib/locks.ts'
import { dropContents } from '../../messages/messages.retention.ts'
import { purgeTopics } from '../../messages/topics/topics.ts'
import { isUnavailable } from '../../store/database.ts'
import { statement } from '../../store/statement.ts'
import { addUpTallies } from '../../store/tallies.ts'
import type { Report } from '../../store/work.ts'
import type { OpenApp } from '../app.ts'
import type { KindOf } from '../schedule.ts'

const day = 86_400_000
/** Deliveries, their attempts and their events are kept this long after they ended. */
const deliveryRetentionDays = 30
/** No transaction that still knew a topic lasts this long after its deletion. */
const topicDelayMs = 3_600_000

/** Returns the same day `months` months ago, or the last day of that month if it is shorter. */
const monthsBefore = (at: Date, months: number): Date => {
  const before = new Date(at)
  before.setUTCMonth(at.getUTCMonth() - months)
  if (before.getUTCDate() !== at.getUTCDate()) before.setUTCDate(0)
  return before
}

interface Limits {
  /** A step is asked to stop after this. */
  stepMs: number
  /** A step that has not ended this much later is abandoned, so that it does not block the other steps. */
  graceMs: number
}

const usualLimits: Limits = { stepMs: 60_000, graceMs: 15_000 }

type Step = (app: OpenApp, signal: AbortSignal) => Promise<unknown>

/** Work for the rows of all accounts (null), or only for those of one. */
type Only = (app: OpenApp, signal: AbortSignal, only: string | null) => Promise<unknown>

const listAccounts = statement<{ id: string }>(
  'accounts-to-keep',
  { id: 'text' },
  // In another order each time: a run may end before all of them had their turn.
  `select id from ${allAccounts} a order by random()`,
)

/**
 * Does the work for all accounts at once. If that fails, does it for one account after the other, so that an account that
 * fails is reported and does not delay the others. Rejects while the database is unavailable.
 */
const apart =
  (work: Only): Step =>
  async (app, signal) => {
    try {
      await work(app, signal, null)
    } catch (error) {
      if (isUnavailable(error)) throw error
      let hasFailed = false
      for (const { id } of await app.sql(listAccounts)) {
        if (signal.aborted) break
        await work(app, signal, id).catch((error) => {
          if (isUnavailable(error)) throw error
          hasFailed = true
          app.report(error, { account: id })
        })
      }
      // No account caused the error, or the time ended before its turn.
      if (!hasFailed) throw error
    }
  }

/** Returns the steps in their order; null: the setting keeps everything. They are independent of each other. */
const stepsOf = ({ config, now: clock }: OpenApp): Record<KindOf<'housekeeping'>, Step | null> => {
  const now = clock()
  const daysBefore = (days: number) => new Date(now.getTime() - days * day)
  const { journeyRetentionDays, messageRetentionDays, responseRetentionDays } = config
  const { accessLogRetentionMonths, importRetentionDays, rejectRetentionDays } = config
  return {
    'account deletions': finishAccountDeletions,
    'list deletions': apart(finishListDeletions),
    'course deletions': apart(finishCourseDeletions),
    'form deletions': apart(finishFormDeletions),
    'topic deletions': apart((app, _, only) => purgeTopics(app, new Date(now.getTime() - topicDelayMs), only)),
    'domain checks': recheckDomains,
    deliveries: apart((app, signal, only) =>
      purgeDeliveries(app, daysBefore(deliveryRetentionDays), signal, undefined, only),
    ),
    'delivery targets': apart(async (app, signal, only) => {
      await forgetFormerSecrets(app, now, signal, undefined, only)
      await purgeTargets(app, daysBefore(deliveryRetentionDays), signal, undefined, only)
    }),
    'journey deletions': apart(finishJourneyDeletions),
    'journey runs': apart((app, signal, only) =>
      purgeRuns(app, daysBefore(journeyRetentionDays), signal, undefined, only),
    ),
    'journey versions': apart((app, signal, only) => purgeVersions(app, signal, undefined, only)),
    'message contents':
      messageRetentionDays > 0
        ? apart(async (app, signal, only) => {
            await dropContents(app, daysBefore(messageRetentionDays), signal, undefined, only)
            await dropRunData(app, daysBefore(messageRetentionDays), signal, undefined, only)
          })
        : null,
    'reported events':
      messageRetentionDays > 0
        ? apart((app, signal, only) => purgeActivities(app, daysBefore(messageRetentionDays), signal, undefined, only))
        : null,
    'response texts':
      responseRetentionDays > 0
        ? apart((app, signal, only) => dropTexts(app, daysBefore(responseRetentionDays), signal, undefined, only))
        : null,
    'access log': apart((app, signal, only) =>
      purgeAccessLog(app, monthsBefore(now, accessLogRetentionMonths), signal, undefined, only),
    ),
    imports: apart((app, signal, only) =>
      purgeImports(app, daysBefore(importRetentionDays), daysBefore(rejectRetentionDays), signal, undefined, only),
    ),
    'signup links': resendFailedLinks,
    signups: apart((app, signal, only) => purgeSignups(app, signal, undefined, only)),
    'busy times': apart((app, signal, only) => purgeBusyTimes(app, daysBefore(30), signal, only)),
    'mail domains': (app, signal) => purgeMailDomains(app, daysBefore(1), signal),
    'rate windows': purgeRateWindows,
    tallies: apart((app, signal, only) => addUpTallies(app, signal, undefined, only)),
  }
}

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
    const { rows } = await guard.query('select pg_try_advisory_lock($1) as mine', [singleLocks.housekeeping])
    if (!rows[0].mine) return
    for (const [name, step] of Object.entries(stepsOf(app))) {
      if (ending.aborted) return
      if (!step) continue
      let hasFailed = false
      const fail: Report = (error, about) => {
        hasFailed = true
        report(error, { step: name, ...about })
      }
      await runStep({ ...app, report: fail }, step, ending, limits).catch((error) => fail(error, {}))
      app.counters.count('housekeeping', hasFailed ? 'failed' : 'done')
    }
  } finally {
    await guard.end().catch(() => {})
  }
}
