import { Problem } from '../lib/problem.ts'
import type { App, Report, Work } from '../store/work.ts'
import { endTargets, lockTargets, tellEnded } from './deliveries.end.ts'
import { goneStatus } from './delivery.post.ts'
import { endedOf, type Recorded, type Result, recordResults } from './delivery.record.ts'

/** Transactions at once: the others of our few connections are for claims and for what is recorded together. */
const laneCount = 2
/** For a lock that somebody else has. */
const lockWaitMs = 100
const lockedRetryMs = 500
const passingRetryMs = 1000
const firstFaultMs = 100
const longestFaultMs = 60_000

interface Entry {
  targetId: string
  results: Result[]
  /** 0, or how long it has waited since a fault of ours. */
  waitedMs: number
}

interface Ports {
  settle(recorded: Recorded, results: readonly Result[]): void
  /** Calls `run` after so many ms, unless the end comes first. */
  later(ms: number, run: () => void): void
  /** The database is away, or too busy: the same again may succeed. */
  isPassing(error: unknown): boolean
  report: Report
}

const isLocked = (error: unknown): boolean => (error as { code?: string }).code === '55P03'

const endGone = async (work: Work, targetId: string) => {
  await endTargets(work, [targetId], 'gone')
  await work.sql(
    `update delivery_targets set last_failure_at = svc_now(), last_error = 'answered ${goneStatus}'
     where account_id = $1 and id = $2 and disabled_reason = 'gone'`,
    [work.accountId, targetId],
  )
}

/** 410 ends a subscription, and all that is pending for it, with the record of that answer. Rejects where a lock is taken. */
const write = (app: App, results: readonly Result[]) => {
  const { kind, accountId, targetId } = results[0]!.claimed
  return app.work(accountId, 'job:deliveries', async (work) => {
    await work.sql(`select set_config('lock_timeout', '${lockWaitMs}ms', true)`)
    // The target before its deliveries, as by everybody who locks both.
    if (kind !== 'journey') await lockTargets(work.sql, accountId, [targetId])
    const recorded = await recordResults(work.sql, results)
    if (kind === 'journey') {
      const ended = recorded.written.flatMap((one) => endedOf(one) ?? [])
      await tellEnded(work, ended)
    } else if (recorded.written.some(({ result }) => result.status === 'cancelled')) await endGone(work, targetId)
    return recorded
  })
}

/**
 * Records what is not recorded with the rest: what ends its target or is waited for, in a transaction with what follows
 * from it, and one by one what the database refused. Who holds a lock that one of them needs holds up that one alone.
 */
export const createApart = (app: App, { settle, later, isPassing, report }: Ports) => {
  const queue: Entry[] = []
  const lanes = new Set<Promise<void>>()

  const retry = (entry: Entry, error: unknown) => {
    // The account is being deleted, and its deliveries with it.
    if (error instanceof Problem) return settle({ written: [], locked: [] }, entry.results)
    if (isLocked(error)) return later(lockedRetryMs, () => add(entry))
    if (isPassing(error)) return later(passingRetryMs, () => add(entry))
    report(error, { deliveries: entry.results.map(({ claimed }) => claimed.id) })
    // One of them may be what it fails on.
    const waitedMs = Math.min(Math.max(entry.waitedMs * 2, firstFaultMs), longestFaultMs)
    for (const result of entry.results) later(waitedMs, () => add({ ...entry, results: [result], waitedMs }))
  }

  const runLane = async () => {
    for (let entry = queue.shift(); entry; entry = queue.shift()) {
      const { results } = entry
      await write(app, results).then(
        (recorded) => settle(recorded, results),
        (error) => retry(entry, error),
      )
    }
  }

  const add = (entry: Entry) => {
    const { targetId, results, waitedMs } = entry
    const same = waitedMs > 0 ? undefined : queue.find((one) => one.waitedMs === 0 && one.targetId === targetId)
    if (same) same.results.push(...results)
    else queue.push(entry)
    if (lanes.size === laneCount) return
    const lane = runLane().finally(() => lanes.delete(lane))
    lanes.add(lane)
  }

  return {
    add(results: readonly Result[]) {
      for (const [targetId, own] of Map.groupBy(results, ({ claimed }) => claimed.targetId)) {
        add({ targetId, results: own, waitedMs: 0 })
      }
    },
    /** After a fault of ours that one of them may be the reason of. */
    addSingly(results: readonly Result[]) {
      for (const result of results)
        add({ targetId: result.claimed.targetId, results: [result], waitedMs: firstFaultMs })
    },
    get isBusy() {
      return lanes.size > 0
    },
  }
}
