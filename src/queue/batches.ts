import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { isUnavailable } from '../store/database.ts'

const firstRetryMs = 100
const longestRetryMs = 2000
/** An item whose row another transaction has locked is tried again after this long. */
const lockedRetryMs = 200
/** An item that failed in a batch of its own is tried once more after this long. */
const secondTryMs = 1000

export interface Batches<Item> {
  push(items: readonly Item[]): void
  /** The last batch failed because the database is away: it is kept and tried again. */
  readonly isStuck: boolean
  /** Nothing waits, runs, or waits to be tried again. */
  readonly isIdle: boolean
  /** Resolves once everything that was pushed has gone through, or after `deadlineMs`. */
  flush(deadlineMs: number): Promise<void>
  /** The same; then nothing runs any more, and what is left is dropped. */
  close(deadlineMs: number): Promise<void>
}

interface Ports<Item> {
  /** Runs a batch. Resolves with the items that another transaction has locked. */
  run(batch: readonly Item[]): Promise<readonly Item[]>
  /** The item failed twice in a batch of its own while the database was available. It is dropped. */
  failed(item: Item, error: unknown): void
}

/**
 * Runs items in batches of at most `size`, one after another: what is pushed while a batch runs makes up the next one. A
 * lone item waits for nothing; under load a batch begins at least `gatherMs` after the one before it. While the database is
 * away the batch waits; when it refuses a batch its items run one by one, so that none blocks the others.
 */
export const createBatches = <Item>(
  { size, gatherMs }: { size: number; gatherMs: number },
  { run, failed }: Ports<Item>,
): Batches<Item> => {
  const waiting: Item[] = []
  const failedOnce = new Set<Item>()
  let delayed = 0
  let retryMs = 0
  let begunAt = 0
  let running: Promise<void> | null = null
  let isClosed = false

  const later = (ms: number, items: readonly Item[]) => {
    if (items.length === 0) return
    delayed++
    setTimeout(() => {
      delayed--
      if (!isClosed) push(items)
    }, ms).unref()
  }

  const runAlone = async (item: Item) => {
    try {
      later(lockedRetryMs, await run([item]))
      failedOnce.delete(item)
    } catch (error) {
      if (isUnavailable(error)) return later(secondTryMs, [item])
      if (failedOnce.delete(item)) return failed(item, error)
      failedOnce.add(item)
      later(secondTryMs, [item])
    }
  }

  const runBatch = async (batch: readonly Item[]) => {
    try {
      later(lockedRetryMs, await run(batch))
    } catch (error) {
      if (isUnavailable(error)) throw error
      for (const item of batch) await runAlone(item)
    }
  }

  const runAll = async () => {
    await nextTurn()
    while (waiting.length > 0 && !isClosed) {
      const waitMs = Math.max(retryMs, begunAt + gatherMs - performance.now())
      if (retryMs > 0 || (waitMs > 0 && waiting.length < size)) await sleep(waitMs)
      begunAt = performance.now()
      const batch = waiting.slice(0, size)
      try {
        const fresh = batch.filter((item) => !failedOnce.has(item))
        const again = batch.filter((item) => failedOnce.has(item))
        if (fresh.length > 0) await runBatch(fresh)
        for (const item of again) await runAlone(item)
        retryMs = 0
        waiting.splice(0, batch.length)
      } catch {
        retryMs = Math.min(Math.max(retryMs * 2, firstRetryMs), longestRetryMs)
      }
    }
    running = null
  }

  const push = (items: readonly Item[]) => {
    waiting.push(...items)
    if (waiting.length > 0) running ??= runAll()
  }

  const flush = async (deadlineMs: number) => {
    const endsAt = performance.now() + deadlineMs
    while ((running || delayed > 0) && performance.now() < endsAt) await sleep(5)
  }

  return {
    push,
    get isStuck() {
      return retryMs > 0
    },
    get isIdle() {
      return !running && delayed === 0
    },
    flush,
    async close(deadlineMs) {
      await flush(deadlineMs)
      isClosed = true
    },
  }
}
