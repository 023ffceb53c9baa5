interface Waiting<Call, Result> {
  call: Call
  done(result: Result): void
  failed(error: unknown): void
}

/** Longer than any wait for a lock. */
const patienceMs = 10_000

interface Options<Call> {
  /**
   * Whether an error concerns all calls: the database is away or too busy. Calls that share the run, or wait for their turn,
   * then fail with it at once, since a run of their own would only wait for the same thing.
   */
  isShared(error: unknown): boolean
  /** Of calls about the same subject one runs at a time, in their order. */
  subjectOf?(call: Call): unknown
}

/**
 * Returns a function that coalesces calls with the same key: calls that arrive while a run is under way share the next one, at
 * most `mostAtOnce` of them. For writers that would wait for each other's commit anyway.
 *
 * `run` returns one result for each call, in their order. If it rejects with an error that belongs to one call, each call of the
 * batch runs separately, one after another, so that the others succeed. A run that hangs delays the next one by 10 s at most.
 *
 * The returned function takes the scope that `run` gets (that of the batch's first call), the object within which keys are
 * distinguished (held weakly), the key and the call.
 */
export const coalesceCalls = <Scope extends object, Call, Result>(
  mostAtOnce: number,
  run: (scope: Scope, calls: readonly Call[]) => Promise<readonly Result[]>,
  { isShared, subjectOf }: Options<Call>,
) => {
  const scopes = new WeakMap<object, Map<string, Waiting<Call, Result>[]>>()

  const settled = (running: Promise<void>): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, patienceMs)
    running.finally(() => {
      clearTimeout(timer)
      resolve()
    })
    return promise
  }

  /** Settles the batch; calls still in `queue` fail with it if its error is shared. */
  const runBatch = async (scope: Scope, batch: readonly Waiting<Call, Result>[], queue: Waiting<Call, Result>[]) => {
    const results = await run(
      scope,
      batch.map(({ call }) => call),
    ).catch((error) => ({ error }))
    if (!('error' in results)) return batch.forEach(({ done }, i) => void done(results[i]!))
    const { error } = results
    if (isShared(error)) {
      for (const { failed } of [...batch, ...queue.splice(0)]) failed(error)
    } else if (batch.length === 1) batch[0]!.failed(error)
    else await runEach(scope, [...batch], queue)
  }

  const runEach = async (scope: Scope, left: Waiting<Call, Result>[], queue: Waiting<Call, Result>[]) => {
    for (let one = left.shift(); one; one = left.shift()) {
      const { call, done, failed } = one
      await run(scope, [call]).then(
        ([result]) => done(result!),
        (error) => {
          failed(error)
          if (isShared(error)) for (const other of [...left.splice(0), ...queue.splice(0)]) other.failed(error)
        },
      )
    }
  }

  /** Removes the calls of the next run from the queue. */
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
      while (opened.length > 0) await settled(runBatch(scope, take(opened), opened))
      queues.delete(key)
    }
    drain()
    return promise
  }
}
