import { Problem } from '../lib/problem.ts'
import { runSchedule } from '../queue/loop.ts'
import { isUnavailable } from '../store/database.ts'
import type { App, Report } from '../store/work.ts'
import { advanceBroadcast } from './broadcasts.step.ts'

/** After a fault of ours with a broadcast, it is tried again after so long. */
const faultMs = 60_000

/** While there are any, they are looked at so often; while there are none, a notice tells of the first. */
const pollMs = 2000
const idleMs = 10_000

interface OpenBroadcast {
  accountId: string
  id: string
  /** It is time, and there is something to do: more than to wait for relays. */
  isDue: boolean
}

const finding = `
  select account_id as "accountId", id, coalesce(scheduled_at, created_at) <= $1
    and (started_at is null or checkpoint is not null or rate is not null or status = 'cancelled' or queued = 0
      or exists (select from message_tallies t where t.account_id = b.account_id and t.batch = b.id)) as "isDue"
  from broadcasts b where finished_at is null order by coalesce(scheduled_at, created_at)`

/** Its account is going, or a row that it needs is locked: nothing is wrong. */
const isElsewhere = (error: unknown): boolean => isUnavailable(error) || error instanceof Problem

/**
 * Takes the steps of all broadcasts that are due, one of each in turn, until `signal` is aborted. Any number may run on one
 * database. A fault of ours is reported, and holds up no other broadcast.
 */
export const runBroadcasts = (app: App, signal: AbortSignal, report: Report = () => {}): Promise<void> =>
  runSchedule(app, 'svc_broadcasts', signal, report, ({ ring }) => {
    const resting = new Map<string, number>()

    const advance = async ({ accountId, id }: OpenBroadcast) => {
      if ((resting.get(id) ?? 0) > performance.now()) return null
      try {
        return await app.work(accountId, 'job:broadcasts', (work) => advanceBroadcast(app, work, id))
      } catch (error) {
        if (isElsewhere(error)) return null
        report(error, { broadcast: id })
        resting.set(id, performance.now() + faultMs)
        return null
      }
    }

    const turn = async () => {
      const found = await app.sql<OpenBroadcast>(finding, [app.now()], 'find-broadcasts')
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
