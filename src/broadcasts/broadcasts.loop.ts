import { activeAccounts } from '../accounts/accounts.rows.ts'
import { Problem } from '../lib/problem.ts'
import { hasBatchCounts } from '../messages/outbox/batches.rows.ts'
import { isHeld } from '../queue/holds.ts'
import { followLooks } from '../queue/looks.ts'
import { runSchedule, turnOfAccounts } from '../queue/loop.ts'
import { defineJob } from '../store/background.ts'
import type { RowOf } from '../store/column-types.ts'
import { isUnavailable } from '../store/database.ts'
import { preparedStatement } from '../store/statement.ts'
import type { App, Report } from '../store/work.ts'

/** The channel of the jobs that send broadcasts. */
export const broadcastsChannel = 'svc_broadcasts'

/** A broadcast whose step failed with an unexpected error is retried after this time. */
const errorRetryMs = 60_000

/** Poll intervals with open broadcasts and without any. A notice announces the first one. */
const pollMs = 2000
const idleMs = 10_000

/** `isDue` says that a step has something to do: waiting for relays needs no step. */
const openTypes = { accountId: 'text', id: 'text', isDue: 'bool' } as const

/** A broadcast that is not done, and whose time has come. */
type OpenBroadcast = RowOf<typeof openTypes>

const open = `finished_at is null and status <> 'draft'`
const startsAt = 'coalesce(scheduled_at, created_at)'

const findOpen = preparedStatement(
  'find-broadcasts',
  { row: openTypes, parameters: { now: 'timestamptz' } },
  `with recursive ${turnOfAccounts('broadcasts', startsAt, open)}
   select b.account_id as "accountId", b.id,
     started_at is null
       or checkpoint is not null
       or rate is not null
       or status = 'cancelled'
       or queued = 0
       or ${hasBatchCounts('b.account_id', 'b.id')} as "isDue"
   from turn t cross join lateral (
     select * from broadcasts
     where account_id = t.account_id and ${open} and paused_at is null and ${startsAt} <= :now order by ${startsAt}
   ) b
   where t.due <= :now and (b.status = 'cancelled' or not ${isHeld('sends')}) and exists (select from ${activeAccounts} a where a.id = t.account_id)
   order by ${startsAt}`,
)

const findLater = preparedStatement(
  'find-later-broadcast',
  { parameters: { now: 'timestamptz' } },
  `select from broadcasts where ${open} and paused_at is null and ${startsAt} > :now order by ${startsAt} limit 1`,
)

/** Whether any broadcast is open and not paused. */
export const isAnyOpen = `
  select true from broadcasts where ${open} and paused_at is null order by ${startsAt} limit 1`

/** Whether an error needs no report: the account is being deleted, or a row is locked. The next turn tries again. */
const isExpected = (error: unknown): boolean => isUnavailable(error) || error instanceof Problem

/**
 * Takes the steps of all due broadcasts, one of each in turn, until `signal` is aborted. Any number of processes may run it on one
 * database. An unexpected error is reported and does not delay other broadcasts.
 */
export const runBroadcasts = (app: App, signal: AbortSignal, report: Report = () => {}): Promise<void> =>
  runSchedule(app, broadcastsChannel, signal, report, ({ ring }) => {
    const retryAt = new Map<string, number>()
    const look = followLooks(app, 'broadcasts', ring)

    const advance = async ({ accountId, id }: OpenBroadcast) => {
      if ((retryAt.get(id) ?? 0) > performance.now()) return null
      try {
        // Loaded when a broadcast is due, which keeps the thread small.
        const { takeStep } = await import('./broadcasts.step.ts')
        return await takeStep(app, accountId, 'job:broadcasts', id)
      } catch (error) {
        if (isExpected(error)) return null
        report(error, { broadcast: id })
        retryAt.set(id, performance.now() + errorRetryMs)
        return null
      }
    }

    const turn = async (isAsked: boolean) => {
      if (!isAsked && look.isIdle) return idleMs
      const now = app.now()
      const found = await app.sql(findOpen, { now })
      const isAnyOpen = found.length > 0 || (await app.sql(findLater, { now })).length > 0
      let waitMs = isAnyOpen ? pollMs : idleMs
      for (const open of found) {
        if (signal.aborted) break
        const step = open.isDue ? await advance(open) : null
        if (step?.isMore) ring()
        waitMs = Math.min(waitMs, step?.waitMs ?? pollMs)
      }
      return waitMs
    }

    return { turn, finish: look.close }
  })

export const jobs = [
  defineJob('broadcasts', {
    every: 'a notice, 2 s; idle 10 s',
    does: 'Queues the messages of broadcasts at their time and pace',
    run: runBroadcasts,
  }),
]
