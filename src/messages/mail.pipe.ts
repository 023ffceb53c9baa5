import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

const firstRetryMs = 100
const longestRetryMs = 60_000

export interface Pipe<Item> {
  push(items: readonly Item[]): void
  /** The last batch did not go through, and is tried again. */
  readonly isStuck: boolean
  /** Resolves when all that was pushed has gone through. */
  flush(): Promise<void>
}

interface Ports<Item> {
  /** Under load a batch begins at the earliest this time after the previous one began, so that more items share it. */
  gatherMs: number
  run(batch: readonly Item[]): Promise<void>
  isPassing(error: unknown): boolean
  /** A fault of ours with this one item, tried alone. It is dropped here. */
  failed(item: Item, fault: unknown): void
}

/**
 * Runs what is pushed in batches, one after another: what comes while a batch is under way makes the next. So a lone item
 * waits for nothing, and many share a statement. While the database is away the batch is kept; what it refuses is tried one by one.
 */
export const createPipe = <Item>(batchSize: number, { gatherMs, run, isPassing, failed }: Ports<Item>): Pipe<Item> => {
  const waiting: Item[] = []
  let retryMs = 0
  let begunAt = 0
  let running: Promise<void> | null = null

  const runAlone = async (batch: readonly Item[]) => {
    for (const item of batch) {
      try {
        await run([item])
      } catch (fault) {
        failed(item, fault)
      }
    }
  }

  const runAll = async () => {
    await nextTurn()
    while (waiting.length > 0) {
      const waitMs = Math.max(retryMs, begunAt + gatherMs - performance.now())
      if (retryMs > 0 || (waitMs > 0 && waiting.length < batchSize)) await sleep(waitMs)
      begunAt = performance.now()
      const batch = waiting.slice(0, batchSize)
      try {
        await run(batch)
        retryMs = 0
      } catch (error) {
        if (isPassing(error)) {
          retryMs = Math.min(Math.max(retryMs * 2, firstRetryMs), longestRetryMs)
          continue
        }
        await runAlone(batch)
      }
      waiting.splice(0, batch.length)
    }
    running = null
  }

  return {
    push(items) {
      waiting.push(...items)
      if (waiting.length > 0) running ??= runAll()
    },
    get isStuck() {
      return retryMs > 0
    },
    async flush() {
      while (running) await running
    },
  }
}
