import { Problem } from '../lib/problem.ts'
import { hasBatchCounts } from '../messages/messages.ts'
import { runSchedule } from '../queue/loop.ts'
import { isUnavailable } from '../store/database.ts'
import { preparedStatement } from '../store/statement.ts'
import type { App, Report } from '../store/work.ts'
import { broadcastsChannel } from './broadcasts.send.ts'
import { advanceBroadcast } from './broadcasts.step.ts'

/** A broadcast whose step failed with an unexpected error is retried after this time. */
const errorRetryMs = 60_000

/** Poll intervals with open broadcasts and without any. A notice announces the first one. */
const pollMs = 2000
const idleMs = 10_000

interface OpenBroadcast {
  accountId: string
  id: string
  /** Its time has come, and a step has something to do; waiting for relays needs no step. */
  isDue: boolean
}

const findOpen = preparedStatement<OpenBroadcast>(
  'find-broadcasts',
  { accountId: 'text', id: 'text', isDue: 'bool' },
  `select account_id as "accountId", id,
     coalesce(scheduled_at, created_at) <= $1 and (
       started_at is null
       or checkpoint is not null
       or rate is not null
       or status = 'cancelled'
       or queued = 0
       or ${hasBatchCounts('b.account_id', 'b.id')}
     ) as "isDue"
   from broadcasts b
   where finished_at is null and status <> 'draft'
   order by coalesce(scheduled_at, created_at)`,
)

/** Whether an error needs no report: the account is being deleted, or a row is locked. The next turn tries again. */
const isExpected = (error: unknown): boolean => isUnavailable(error) || error instanceof Problem

/**
 * Takes the steps of all due broadcasts, one of each in turn, until `signal` is aborted. Any number of processes may run it on one
 * database. An unexpected error is reported and does not delay other broadcasts.
 */
export const runBroadcasts = (app: App, signal: AbortSignal, report: Report = () => {}): Promise<void> =>
  runSchedule(app, broadcastsChannel, signal, report, ({ ring }) => {
    const retryAt = new Map<string, number>()

    const advance = async ({ accountId, id }: OpenBroadcast) => {
      if ((retryAt.get(id) ?? 0) > performance.now()) return null
      try {
        return await app.work(accountId, 'job:broadcasts', (work) => advanceBroadcast(app, work, id))
      } catch (error) {
        if (isExpected(error)) return null
        report(error, { broadcast: id })
        retryAt.set(id, performance.now() + errorRetryMs)
        return null
      }
    }

    const turn = async () => {
      const found = await app.sql(findOpen, [app.now()])
      let waitMs = found.length > 0 ? pollMs : idleMs
      for (const open of found) {
        if (signal.aborted) break
        const step = open.isDue ? await advance(open) : null
        if (step?.isMore) ring()
        waitMs = Math.min(waitMs, step?.waitMs ?? pollMs)
      }
      return waitMs
    }

    return { turn }
  })
