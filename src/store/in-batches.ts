import { setTimeout as sleep } from 'node:timers/promises'

/** The pause after a batch, as a multiple of the batch's duration: the database is free for other work meanwhile. */
const restFactor = 2

/**
 * Runs `batch`, which returns the number of rows it changed, until a batch changes fewer than `size` rows or `signal` is
 * aborted, with a pause between batches. Returns the total number of rows.
 */
export const inBatches = async (size: number, batch: () => Promise<number>, signal?: AbortSignal): Promise<number> => {
  let total = 0
  while (!signal?.aborted) {
    const startedAt = performance.now()
    const count = await batch()
    total += count
    if (count < size) break
    await sleep(restFactor * (performance.now() - startedAt), undefined, signal && { signal }).catch(() => {})
  }
  return total
}
