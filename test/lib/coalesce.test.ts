import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { coalesceCalls } from '../../src/lib/coalesce.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

class Away extends Error {}
const isShared = (error: unknown) => error instanceof Away

test('a run that hangs delays the calls behind it by at most ten seconds', async () => {
  const batches: number[][] = []
  const run = async (_: object, calls: readonly number[]) => {
    batches.push([...calls])
    if (calls.includes(1)) await new Promise(() => {})
    return calls
  }
  const call = coalesceCalls(10, run, { isShared })
  const [scope, of] = [{}, {}]
  void call(scope, of, 'key', 1)
  const others = [call(scope, of, 'key', 2), call(scope, of, 'key', 3)]
  await vi.advanceTimersByTimeAsync(9_900)
  expect(batches).toEqual([[1]])
  await vi.advanceTimersByTimeAsync(200)
  expect(await Promise.all(others)).toEqual([2, 3])
  expect(batches).toEqual([[1], [2, 3]])
})

test('a run that ends in time leaves no timer behind', async () => {
  const call = coalesceCalls(10, async (_: object, calls: readonly number[]) => calls, { isShared })
  expect(await call({}, {}, 'key', 1)).toBe(1)
  await vi.advanceTimersByTimeAsync(0)
  expect(vi.getTimerCount()).toBe(0)
})

test('a run waits for further calls as long as it is told to, by its key', async () => {
  const batches: number[][] = []
  const run = async (_: object, calls: readonly number[]) => {
    batches.push([...calls])
    return calls
  }
  const call = coalesceCalls(10, run, { isShared, gatherMs: (key) => (key === 'busy' ? 10 : 0) })
  const [scope, of] = [{}, {}]
  const first = call(scope, of, 'busy', 1)
  await vi.advanceTimersByTimeAsync(9)
  const second = call(scope, of, 'busy', 2)
  expect(await call(scope, of, 'idle', 3)).toBe(3)
  expect(batches).toEqual([[3]])
  await vi.advanceTimersByTimeAsync(1)
  expect(await Promise.all([first, second])).toEqual([1, 2])
  expect(batches).toEqual([[3], [1, 2]])
})

test('a full batch does not wait, and no run is empty', async () => {
  const batches: number[][] = []
  const { promise: until, resolve: end } = Promise.withResolvers<void>()
  const run = async (_: object, calls: readonly number[]) => {
    batches.push([...calls])
    if (!calls.includes(1)) return calls
    await until
    throw new Away('away')
  }
  let gatherMs = 0
  const call = coalesceCalls(2, run, { isShared, gatherMs: () => gatherMs })
  const [scope, of] = [{}, {}]
  const failing = [1, 2].map((n) => call(scope, of, 'slow', n).catch((error) => error))
  const full = [3, 4, 5].map((n) => call(scope, of, 'full', n))
  gatherMs = 15
  await vi.advanceTimersByTimeAsync(1)
  expect(batches).toEqual([[1], [3], [4, 5]])
  expect(await Promise.all(full)).toEqual([3, 4, 5])
  // The second call of `slow` waits for others when the run before it fails, for a reason that concerns both.
  await vi.advanceTimersByTimeAsync(10_000)
  end()
  await vi.advanceTimersByTimeAsync(15)
  expect(await Promise.all(failing)).toEqual([expect.any(Away), expect.any(Away)])
  expect(batches).toEqual([[1], [3], [4, 5]])
})

test('calls about one subject run one after another in order, and calls about others run with them', async () => {
  const batches: string[][] = []
  const run = async (_: object, calls: readonly string[]) => {
    batches.push([...calls])
    return calls
  }
  const call = coalesceCalls(3, run, { isShared, subjectOf: (name) => name[0] })
  const [scope, of] = [{}, {}]
  const names = ['first', 'a1', 'a2', 'b1', 'a3', 'c1', 'd1']
  expect(await Promise.all(names.map((name) => call(scope, of, 'key', name)))).toEqual(names)
  expect(batches).toEqual([['first'], ['a1', 'b1', 'c1'], ['a2', 'd1'], ['a3']])
})

describe('a run that fails', () => {
  /** Each run takes 2 s, as a wait for a lock may, and then ends as `end` says. */
  const open = (end: (calls: readonly number[]) => void) => {
    const batches: number[][] = []
    const startedAt = Date.now()
    const run = async (_: object, calls: readonly number[]) => {
      batches.push([...calls])
      await new Promise((resolve) => setTimeout(resolve, 2000))
      end(calls)
      return calls
    }
    const call = coalesceCalls(10, run, { isShared })
    const [scope, of] = [{}, {}]
    const settled: Record<number, string> = {}
    const at = () => (Date.now() - startedAt) / 1000
    const start = (n: number) =>
      void call(scope, of, 'key', n).then(
        () => {
          settled[n] = `done after ${at()} s`
        },
        (error) => {
          settled[n] = `${error.message} after ${at()} s`
        },
      )
    return { batches, settled, start }
  }

  test('because the database is unavailable fails every call at once, including the queued ones', async () => {
    const { batches, settled, start } = open(() => {
      throw new Away('away')
    })
    for (let n = 1; n <= 13; n++) start(n)
    await vi.advanceTimersByTimeAsync(2_100)
    expect(batches).toEqual([[1]])
    expect(settled).toEqual(Object.fromEntries(Array.from({ length: 13 }, (_, n) => [n + 1, 'away after 2 s'])))
    start(14)
    await vi.advanceTimersByTimeAsync(2_100)
    expect(batches).toEqual([[1], [14]])
  })

  test('because of one call is repeated for each call, so that the others succeed', async () => {
    const { batches, settled, start } = open((calls) => {
      if (calls.includes(3)) throw new Error('refused')
    })
    for (let n = 1; n <= 4; n++) start(n)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(batches).toEqual([[1], [2, 3, 4], [2], [3], [4]])
    expect(settled).toEqual({
      1: 'done after 2 s',
      2: 'done after 6 s',
      3: 'refused after 8 s',
      4: 'done after 10 s',
    })
  })

  test('because of one call, and then because the database is unavailable, is not repeated for the rest', async () => {
    const { batches, settled, start } = open((calls) => {
      if (calls.length > 1) throw new Error('refused')
      if (calls.includes(3)) throw new Away('away')
    })
    for (let n = 1; n <= 5; n++) start(n)
    await vi.advanceTimersByTimeAsync(7_000)
    start(6)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(batches).toEqual([[1], [2, 3, 4, 5], [2], [3]])
    expect(settled[2]).toBe('done after 6 s')
    for (const n of [3, 4, 5, 6]) expect(settled[n]).toBe('away after 8 s')
  })
})
