import { Problem } from '../lib/problem.ts'
import { isPassing, runQueue } from '../store/queue.ts'
import type { App, Report } from '../store/work.ts'
import { advanceBroadcast } from './broadcasts.step.ts'

/** After a fault of ours with a broadcast, it is tried again after so long. */
const faultMs = 60_000

/** Those with something to do; how many wait for relays costs nothing. */
const finding = `
  select account_id as "accountId", id from broadcasts b
  where finished_at is null and coalesce(scheduled_at, created_at) <= $1
    and (started_at is null or checkpoint is not null or rate is not null or status = 'cancelled' or queued = 0
      or exists (select from message_tallies t where t.account_id = b.account_id and t.batch = b.id))
  order by coalesce(scheduled_at, created_at)`

/** Its account is going, or a row that it needs is locked: nothing is wrong. */
const isElsewhere = (error: unknown): boolean =>
  isPassing(error) || error instanceof Problem || (error as { code?: string }).code === '55P03'

/**
 * Takes the steps of all broadcasts that are due, one of each in turn, until `signal` is aborted. Any number may run on one
 * database. A fault of ours is reported, and holds up no other broadcast.
 */
export const runBroadcasts = (app: App, signal: AbortSignal, report: Report = () => {}): Promise<void> =>
  runQueue(app.database, 'svc_broadcasts', signal, ({ stop, ring }) => {
    const resting = new Map<string, number>()
    let timer: NodeJS.Timeout | undefined

    const advance = async ({ accountId, id }: { accountId: string; id: string }) => {
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

    const claim = async () => {
      clearTimeout(timer)
      let nextMs = Number.POSITIVE_INFINITY
      for (const due of await app.sql<{ accountId: string; id: string }>(finding, [app.now()], 'find-broadcasts')) {
        if (stop.aborted) return
        const step = await advance(due)
        if (step?.isMore) ring()
        nextMs = Math.min(nextMs, step?.waitMs ?? Number.POSITIVE_INFINITY)
      }
      if (nextMs < Number.POSITIVE_INFINITY) timer = setTimeout(ring, nextMs).unref()
    }

    return {
      claim: () =>
        claim().catch((error) => {
          if (!isPassing(error)) report(error, {})
        }),
      finish: async () => clearTimeout(timer),
    }
  })
