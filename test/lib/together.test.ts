import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { together } from '../../src/lib/together.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('who hangs holds up those behind for ten seconds, and no longer', async () => {
  const batches: number[][] = []
  const call = together(10, async (_: object, calls: readonly number[]) => {
    batches.push([...calls])
    if (calls.includes(1)) await new Promise(() => {})
    return calls
  })
  const [scope, of] = [{}, {}]
  void call(scope, of, 'key', 1)
  const others = [call(scope, of, 'key', 2), call(scope, of, 'key', 3)]
  await vi.advanceTimersByTimeAsync(9_900)
  expect(batches).toEqual([[1]])
  await vi.advanceTimersByTimeAsync(200)
  expect(await Promise.all(others)).toEqual([2, 3])
  expect(batches).toEqual([[1], [2, 3]])
})

test('what ends in time leaves no timer behind', async () => {
  const call = together(10, async (_: object, calls: readonly number[]) => calls)
  expect(await call({}, {}, 'key', 1)).toBe(1)
  await vi.advanceTimersByTimeAsync(0)
  expect(vi.getTimerCount()).toBe(0)
})

test('calls about the same thing are run one after another, in their order, and the others beside them', async () => {
  const batches: string[][] = []
  const run = async (_: object, calls: readonly string[]) => {
    batches.push([...calls])
    return calls
  }
  const call = together(3, run, (name) => name[0])
  const [scope, of] = [{}, {}]
  const names = ['first', 'a1', 'a2', 'b1', 'a3', 'c1', 'd1']
  expect(await Promise.all(names.map((name) => call(scope, of, 'key', name)))).toEqual(names)
  expect(batches).toEqual([['first'], ['a1', 'b1', 'c1'], ['a2', 'd1'], ['a3']])
})
