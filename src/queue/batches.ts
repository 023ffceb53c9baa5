import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { isUnavailable } from '../store/database.ts'

const firstRetryMs = 100
const longestRetryMs = 2000
/** An item whose row another transaction has locked is tried again after this long. */
const lockedRetryMs = 200
/** An item that failed in a batch of its own is tried once more after this long. */
const secondTryMs = 1000

interface Batches<Item> {
  push(items: readonly Item[]): void
  /** The last batch failed because the database is unavailable: the batch is kept and tried again. */
  readonly isStuck: boolean
  /** Nothing waits, runs, or waits to be tried again. */
  readonly isIdle: boolean
  /** Resolves once everything that was pushed has gone through, or after `deadlineMs`. */
  flush(deadlineMs: number): Promise<void>
  /** Flushes, then stops; items that are left are dropped. */
  close(deadlineMs: number): Promise<void>
}

interface Ports<Item> {
  /** Runs a batch. Resolves with the items that another transaction has locked. */
  run(batch: readonly Item[]): Promise<readonly Item[]>
  /** Called when an item failed twice in a batch of its own while the database was available. The item is dropped. */
  failed(item: Item, error: unknown): void
}

/**
 * Runs items in batches of at most `size`, one after another: items that are pushed while a batch runs form the next one. A single
 * item runs at once. While the database is unavailable the batch waits. If the database refuses a batch, its items run one by
 * one, so that a bad item does not block the others.
 */
export const createBatches = <Item>(size: number, { run, failed }: Ports<Item>): Batches<Item> => {
  const waiting: Item[] = []
  const failedOnce = new Set<Item>()
  let delayed = 0
  let retryMs = 0
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

  const runOne = async (item: Item) => {
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
      for (const item of batch) await runOne(item)
    }
  }

  const runAll = async () => {
    await nextTurn()
    while (waiting.length > 0 && !isClosed) {
      if (retryMs > 0) await sleep(retryMs)
      const batch = waiting.slice(0, size)
      try {
        const fresh = batch.filter((item) => !failedOnce.has(item))
        const again = batch.filter((item) => failedOnce.has(item))
        if (fresh.length > 0) await runBatch(fresh)
        for (const item of again) await runOne(item)
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
