import { setTimeout as sleep } from 'node:timers/promises'
import type { App, Report, Work } from '../store/work.ts'
import { endTargets, lockTargets, tellEnded } from './deliveries.end.ts'
import { goneStatus } from './delivery.post.ts'
import { endedOf, type Recorded, type Result, recordResults, type Summary, summarize } from './delivery.record.ts'

const gatherMs = 10
const batchSize = 500
const firstRetryMs = 100
const longestRetryMs = 2000
/** A target's row learns of its deliveries at once, and then once in so long. */
const summaryMs = 1000
const lockedRetryMs = 200
const longestFaultMs = 60_000
const maxKept = 10_000

/** What a result says of its target beside itself. */
export interface Bearing {
  timeouts: number
  quietMs: number
}

export interface Recorder {
  add(result: Result, bearing: Bearing): void
  /** The database takes no results at the moment: claiming more would only repeat what is posted already. */
  readonly isStuck: boolean
  /** All is written when this resolves, or `deadlineMs` is over: then the rest belongs to nobody and is posted again. */
  close(deadlineMs: number): Promise<void>
}

interface Ports {
  /** Its slot is free. */
  recorded(result: Result): void
  /** The database is away, or chose this statement to end a deadlock. */
  isPassing(error: unknown): boolean
  /** A fault of ours: what it is about is tried again, with growing waits. */
  report: Report
}

/** What is gathered for a target's row; `at`, when it was written last, in ms of `performance.now()`. */
const createSummaries = ({ sql }: Pick<App, 'sql'>) => {
  const pending = new Map<string, Summary>()
  const writtenAt = new Map<string, number>()

  const merge = (id: string, change: Partial<Summary>) => {
    const none = { id, deliveredAt: null, failedAt: null, error: null, timeouts: 0, quietMs: 0, retryAt: null }
    pending.set(id, { ...(pending.get(id) ?? none), ...change })
  }

  const dueNow = (all: boolean): Summary[] => {
    const nowMs = performance.now()
    const isDue = ({ id, retryAt, quietMs }: Summary) =>
      all || retryAt !== null || quietMs > 0 || nowMs - (writtenAt.get(id) ?? -summaryMs) >= summaryMs
    return [...pending.values()].filter(isDue)
  }

  return {
    /** An attempt that was made, whether or not its result is recorded. */
    note({ claimed: { targetId }, attempt, startedAt }: Result, { timeouts, quietMs }: Bearing) {
      const at = startedAt + attempt.durationMs
      const outcome = attempt.error === null ? { deliveredAt: at } : { failedAt: at, error: attempt.error }
      merge(targetId, { ...outcome, timeouts, ...(quietMs > 0 && { quietMs }) })
    },
    retry(targetId: string, dueAt: number) {
      merge(targetId, { retryAt: Math.min(pending.get(targetId)?.retryAt ?? dueAt, dueAt) })
    },
    get isEmpty() {
      return pending.size === 0
    },
    isDue: (all: boolean) => dueNow(all).length > 0,
    /** Writes what is due to be written; `all`, whatever was written lately. */
    async write(all: boolean) {
      const due = dueNow(all)
      if (due.length === 0) return
      const done = await summarize(sql, due)
      if (writtenAt.size > maxKept) writtenAt.clear()
      for (const summary of due) {
        if (!done.has(summary.id)) continue
        writtenAt.set(summary.id, performance.now())
        if (pending.get(summary.id) === summary) pending.delete(summary.id)
      }
    },
  }
}

/**
 * Gathers results for a few ms and writes them together. While the database is away they are kept and tried again, as is
 * the one whose row somebody has locked: the others go on. What ends its target, or is waited for, is recorded in a
 * transaction with what follows from it, apart from the rest; so is what the database refuses, one by one.
 */
export const createRecorder = (app: App, { recorded, isPassing, report }: Ports): Recorder => {
  const results: Result[] = []
  const summaries = createSummaries(app)
  const apart = new Set<Promise<void>>()
  let isWriting = false
  let writing = Promise.resolve()
  let retryMs = 0
  let isClosed = false

  const later = (ms: number, run: () => void) => {
    const waited = sleep(ms, undefined, { ref: false }).then(() => {
      apart.delete(waited)
      if (!isClosed) run()
    })
    apart.add(waited)
  }

  const settle = ({ written, locked }: Recorded, batch: readonly Result[]) => {
    for (const { result, row } of written) {
      if (row.dueAt !== null) summaries.retry(result.claimed.targetId, row.dueAt)
    }
    const open = new Set(locked)
    for (const result of batch) if (!open.has(result)) recorded(result)
    if (locked.length > 0) later(lockedRetryMs, () => push(locked))
  }

  /** 410 ends a subscription, and all that is pending for it, with the record of that answer. */
  const writeApart = (batch: readonly Result[]) => {
    const { kind, accountId, targetId } = batch[0]!.claimed
    return app.work(accountId, 'job:deliveries', async (work) => {
      // The target before its deliveries, as by everybody who locks both.
      if (kind !== 'journey') await lockTargets(work.sql, accountId, [targetId])
      const done = await recordResults(work.sql, batch)
      const isGone = done.written.some(({ result }) => result.status === 'cancelled')
      if (kind === 'journey')
        await tellEnded(
          work,
          done.written.flatMap((one) => endedOf(one) ?? []),
        )
      else if (isGone) await endGone(work, targetId)
      return done
    })
  }

  const endGone = async (work: Work, targetId: string) => {
    await endTargets(work, [targetId], 'gone')
    await work.sql(
      `update delivery_targets set last_failure_at = svc_now(), last_error = 'answered ${goneStatus}'
       where account_id = $1 and id = $2 and disabled_reason = 'gone'`,
      [work.accountId, targetId],
    )
  }

  const goApart = (batch: readonly Result[], againMs = firstRetryMs) => {
    const done = writeApart(batch)
      .then((made) => settle(made, batch))
      .catch((error) => {
        if (!isPassing(error)) report(error, { deliveries: batch.map(({ claimed }) => claimed.id) })
        later(againMs, () => goApart(batch, Math.min(againMs * 2, longestFaultMs)))
      })
      .finally(() => apart.delete(done))
    apart.add(done)
  }

  const writeBatch = async (batch: readonly Result[]) => {
    try {
      settle(await recordResults(app.sql, batch), batch)
    } catch (error) {
      if (isPassing(error)) throw error
      report(error, { deliveries: batch.map(({ claimed }) => claimed.id) })
      for (const result of batch) goApart([result])
    }
    results.splice(0, batch.length)
  }

  const writeAll = async () => {
    while (results.length > 0 || summaries.isDue(isClosed)) {
      if (results.length < batchSize || retryMs > 0) await sleep(isClosed ? gatherMs : Math.max(retryMs, gatherMs))
      try {
        const batch = results.slice(0, batchSize)
        // Before the results: whoever sees what became of a delivery sees it of its target as well.
        await summaries.write(isClosed)
        if (batch.length > 0) await writeBatch(batch)
        retryMs = 0
      } catch (error) {
        if (!isPassing(error)) report(error, {})
        retryMs = Math.min(Math.max(retryMs * 2, firstRetryMs), longestRetryMs)
      }
    }
    isWriting = false
    if (!summaries.isEmpty) later(summaryMs, start)
  }

  const start = () => {
    if (isWriting) return
    isWriting = true
    writing = writeAll()
  }

  const isApart = ({ claimed: { kind }, status }: Result) =>
    status === 'cancelled' || (kind === 'journey' && status !== 'pending')

  const push = (more: readonly Result[]) => {
    const [alone, together] = [more.filter(isApart), more.filter((result) => !isApart(result))]
    results.push(...together)
    for (const batch of Map.groupBy(alone, ({ claimed }) => claimed.targetId).values()) goApart(batch)
    start()
  }

  return {
    add(result, bearing) {
      summaries.note(result, bearing)
      push([result])
    },
    get isStuck() {
      return retryMs > 0
    },
    async close(deadlineMs) {
      isClosed = true
      start()
      await Promise.race([Promise.all([writing, ...apart]), sleep(deadlineMs, undefined, { ref: false })])
      results.length = 0
    },
  }
}
