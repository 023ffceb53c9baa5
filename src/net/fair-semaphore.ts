/** Permits that waiting owners get in turn. */
interface FairSemaphore {
  /** Resolves to whether a permit was free within `limitMs`. A caller that got one must call `leave`. */
  enter(owner: unknown, limitMs: number): Promise<boolean>
  leave(): void
}

/** Returns a semaphore with `atOnce` permits. A free permit goes to the waiting owners in turn, however many each of them wants. */
export const createFairSemaphore = (atOnce: number): FairSemaphore => {
  const waiting = new Map<unknown, Set<() => void>>()
  let taken = 0
  return {
    async enter(owner, limitMs) {
      if (taken < atOnce) {
        taken++
        return true
      }
      const { promise, resolve } = Promise.withResolvers<boolean>()
      const queue = waiting.getOrInsertComputed(owner, () => new Set())
      const go = () => {
        clearTimeout(timer)
        resolve(true)
      }
      const giveUp = () => {
        queue.delete(go)
        if (queue.size === 0) waiting.delete(owner)
        resolve(false)
      }
      const timer = setTimeout(giveUp, limitMs)
      queue.add(go)
      return promise
    },
    leave() {
      for (const [owner, queue] of waiting) {
        waiting.delete(owner)
        const [go] = queue
        queue.delete(go!)
        if (queue.size > 0) waiting.set(owner, queue)
        return go!()
      }
      taken--
    },
  }
}
