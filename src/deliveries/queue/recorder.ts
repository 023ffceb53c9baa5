import { createBatches } from '../../queue/batches.ts'
import { settleMs } from '../../queue/loop.ts'
import type { App, Report } from '../../store/work.ts'
import type { ClaimedDelivery } from './claim.statement.ts'
import { type Recorded, type Result, recordResults } from './deliveries.record.ts'
import { recordWithEffects } from './effects.ts'
import { createSummaries, type TargetEffect } from './summaries.ts'

const batchSize = 500
/** Transactions of results with effects in one batch. */
const effectsSize = 100
const firstWaitMs = 1000
const longestWaitMs = 60_000

interface Recorder {
  add(result: Result, effect: TargetEffect): void
  /** The database accepts no results at the moment: further claims would only repeat posts. */
  readonly isStuck: boolean
  /** Resolves once everything is written, or after a few seconds: the rest is then posted again. */
  close(): Promise<void>
}

/** Whether a result ends its target or has a waiting caller: it is then recorded in one transaction with these effects. */
const hasEffects = ({ claimed: { kind }, status }: Result) =>
  status === 'cancelled' || (kind === 'journey' && status !== 'pending')

const unrecordable = (result: Result): Result => ({
  ...result,
  attempt: { ...result.attempt, error: result.attempt.error && 'The reason could not be recorded', snippet: '' },
})

interface RecorderEvents {
  /** The claim's result is written, or it belongs to another worker by now. */
  recorded(claimed: ClaimedDelivery): void
  /** A failed attempt is written: the next one is due after `waitMs`. */
  retried(waitMs: number): void
}

/**
 * Collects results and writes them in batches. A result that the database refuses twice is written without the receiver's text; if
 * that fails too, it keeps its permit and is tried again with growing waits.
 */
export const createRecorder = (app: App, report: Report, { recorded, retried }: RecorderEvents): Recorder => {
  const summaries = createSummaries(app.sql, report)
  /** Results without the receiver's text, and the last wait of each before a try, in ms. */
  const refused = new WeakMap<Result, number>()

  const settle = (batch: readonly Result[], { written, locked }: Recorded): readonly Result[] => {
    for (const { result, row } of written) {
      const { status, attempt, waitMs } = result
      app.counters.count('deliveries', status === 'pending' ? 'retried' : status)
      app.counters.observe('delivery', attempt.durationMs)
      if (row.dueAt !== null) summaries.retry(result.claimed.targetId, row.dueAt)
      if (waitMs !== null) retried(waitMs)
    }
    const open = new Set(locked)
    for (const result of batch) if (!open.has(result)) recorded(result.claimed)
    return locked
  }

  const failed = (result: Result, error: unknown) => {
    report(error, { delivery: result.claimed.id })
    const waitedMs = refused.get(result)
    if (waitedMs === undefined) return retry(unrecordable(result), 0)
    retry(result, Math.min(Math.max(waitedMs * 2, firstWaitMs), longestWaitMs))
  }

  const retry = (result: Result, waitMs: number) => {
    refused.set(result, waitMs)
    setTimeout(() => push(result), waitMs).unref()
  }

  const plain = createBatches<Result>(batchSize, {
    async run(batch) {
      // The target's summary is written first: a reader that sees the result of a delivery finds its target up to date.
      await summaries.write()
      return settle(batch, await recordResults(app.sql, batch))
    },
    failed,
  })
  const withEffects = createBatches<Result>(effectsSize, {
    async run(batch) {
      await summaries.write()
      return settle(batch, await recordWithEffects(app, batch))
    },
    failed,
  })

  const push = (result: Result) => (hasEffects(result) ? withEffects : plain).push([result])

  return {
    add(result, effect) {
      summaries.note(result, effect)
      push(result)
    },
    get isStuck() {
      return plain.isStuck
    },
    async close() {
      const endsAt = performance.now() + settleMs
      await Promise.all([plain.close(settleMs), withEffects.close(settleMs)])
      await summaries.close(Math.max(0, endsAt - performance.now()))
    },
  }
}
