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
