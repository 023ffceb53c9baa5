interface Waiting<Call, Result> {
  call: Call
  done(result: Result): void
  failed(error: unknown): void
}

/** Longer than any wait for a lock. */
const patienceMs = 10_000

/**
 * Gives a function that runs calls of one key in turns: those that come while one is under way share the next, at most
 * `mostAtOnce`. For writers that would wait for each other's commit anyway. `run` gives a result for each call, in their
 * order; where it rejects, each of them runs alone, so that a fault with one is not the others'. `of`: where keys are told
 * apart; it is not kept alive. `scope` is that of the first of them, for as long as others come: it holds no time. `subjectOf`:
 * of calls about the same thing one is run at a time, in their order, as long as none hangs.
 */
export const together = <Scope extends object, Call, Result>(
  mostAtOnce: number,
  run: (scope: Scope, calls: readonly Call[]) => Promise<readonly Result[]>,
  subjectOf?: (call: Call) => unknown,
) => {
  const scopes = new WeakMap<object, Map<string, Waiting<Call, Result>[]>>()

  /** Who hangs, as a connection can, holds up those behind for so long. */
  const inTime = (running: Promise<void>): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, patienceMs)
    running.finally(() => {
      clearTimeout(timer)
      resolve()
    })
    return promise
  }

  const runAll = async (scope: Scope, batch: readonly Waiting<Call, Result>[]): Promise<void> => {
    try {
      const results = await run(
        scope,
        batch.map(({ call }) => call),
      )
      batch.forEach(({ done }, i) => void done(results[i]!))
    } catch (error) {
      if (batch.length > 1) for (const one of batch) await runAll(scope, [one])
      else batch[0]!.failed(error)
    }
  }

  /** Takes the next to run from those that wait. */
  const take = (queue: Waiting<Call, Result>[]): Waiting<Call, Result>[] => {
    if (!subjectOf) return queue.splice(0, mostAtOnce)
    const firsts = new Map<unknown, Waiting<Call, Result>>()
    for (const waiting of queue) {
      if (firsts.size === mostAtOnce) break
      firsts.getOrInsert(subjectOf(waiting.call), waiting)
    }
    const taken = new Set(firsts.values())
    const left = queue.filter((waiting) => !taken.has(waiting))
    queue.length = 0
    for (const waiting of left) queue.push(waiting)
    return [...taken]
  }

  return (scope: Scope, of: object, key: string, call: Call): Promise<Result> => {
    const queues = scopes.getOrInsertComputed(of, () => new Map())
    const { promise, resolve: done, reject: failed } = Promise.withResolvers<Result>()
    const waiting = { call, done, failed }
    const queue = queues.get(key)
    if (queue) {
      queue.push(waiting)
      return promise
    }
    const opened = [waiting]
    queues.set(key, opened)
    const drain = async () => {
      while (opened.length > 0) await inTime(runAll(scope, take(opened)))
      queues.delete(key)
    }
    drain()
    return promise
  }
}
