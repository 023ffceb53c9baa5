import { setTimeout as sleep } from 'node:timers/promises'

/** After a batch the database is the others' for so many times what it took. */
const restFactor = 2

/**
 * Runs `batch`, which gives how many rows it took, until one takes fewer than `size` or `signal` is aborted, with a rest
 * between any two. Gives how many rows went in all.
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
