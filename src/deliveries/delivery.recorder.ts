import { setTimeout as sleep } from 'node:timers/promises'
import type { App, Report } from '../store/work.ts'
import { createApart } from './delivery.apart.ts'
import { type Recorded, type Result, recordResults } from './delivery.record.ts'
import { type Bearing, createSummaries, summaryMs } from './delivery.summaries.ts'

const gatherMs = 10
const batchSize = 500
const firstRetryMs = 100
const longestRetryMs = 2000
const lockedRetryMs = 200

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
  /** The database is away, or too busy: the same again may succeed. */
  isPassing(error: unknown): boolean
  /** A fault of ours: what it is about is tried again, with growing waits. */
  report: Report
}

/**
 * Gathers results for a few ms and writes them together. While the database is away they are kept and tried again, as is
 * the one whose row somebody has locked: the others go on. What ends its target, or is waited for, is recorded apart from
 * the rest (delivery.apart.ts), as is what the database refuses.
 */
export const createRecorder = (app: App, { recorded, isPassing, report }: Ports): Recorder => {
  const results: Result[] = []
  const summaries = createSummaries(app.sql, { isPassing, report })
  /** How many of the results wait to be tried again. */
  let waiting = 0
  let isWriting = false
  let retryMs = 0
  let isClosing = false
  let isClosed = false

  const later = (ms: number, run: () => void) => {
    waiting++
    setTimeout(() => {
      waiting--
      if (!isClosed) run()
    }, ms).unref()
  }

  const settle = ({ written, locked }: Recorded, batch: readonly Result[]) => {
    for (const { result, row } of written) {
      const { status, attempt } = result
      app.tallies.count('deliveries', status === 'pending' ? 'retried' : status)
      app.tallies.took('delivery', attempt.durationMs)
      if (row.dueAt !== null) summaries.retry(result.claimed.targetId, row.dueAt)
    }
    const open = new Set(locked)
    for (const result of batch) if (!open.has(result)) recorded(result)
    if (locked.length > 0) later(lockedRetryMs, () => push(locked))
    start()
  }

  const apart = createApart(app, { settle, later, isPassing, report })

  const writeBatch = async (batch: readonly Result[]) => {
    try {
      settle(await recordResults(app.sql, batch), batch)
    } catch (error) {
      if (isPassing(error)) throw error
      report(error, { deliveries: batch.map(({ claimed }) => claimed.id) })
      apart.addSingly(batch)
    }
    results.splice(0, batch.length)
  }

  const writeAll = async () => {
    while (results.length > 0 || summaries.isDue(isClosing)) {
      if (results.length < batchSize || retryMs > 0) await sleep(isClosing ? gatherMs : Math.max(retryMs, gatherMs))
      try {
        const batch = results.slice(0, batchSize)
        // Before the results: whoever sees what became of a delivery sees it of its target as well.
        await summaries.write(isClosing)
        if (batch.length > 0) await writeBatch(batch)
        retryMs = 0
      } catch {
        retryMs = Math.min(Math.max(retryMs * 2, firstRetryMs), longestRetryMs)
      }
    }
    isWriting = false
    if (!summaries.isEmpty) setTimeout(start, summaryMs).unref()
  }

  const start = () => {
    if (isWriting || isClosed) return
    isWriting = true
    void writeAll()
  }

  const isApart = ({ claimed: { kind }, status }: Result) =>
    status === 'cancelled' || (kind === 'journey' && status !== 'pending')

  const push = (more: readonly Result[]) => {
    apart.add(more.filter(isApart))
    results.push(...more.filter((result) => !isApart(result)))
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
      isClosing = true
      start()
      const endsAt = performance.now() + deadlineMs
      while ((isWriting || apart.isBusy || waiting > 0) && performance.now() < endsAt) await sleep(gatherMs)
      isClosed = true
      results.length = 0
    },
  }
}
