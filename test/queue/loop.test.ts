import { expect, test, vi } from 'vitest'
import { createBell, repeat } from '../../src/queue/loop.ts'

/** Repeats a turn that fails twice and then succeeds; resolves with what was reported. */
const reportedOf = async (error: Error): Promise<unknown[]> => {
  const stop = new AbortController()
  const reported: unknown[] = []
  let turns = 0
  const running = repeat(
    createBell(),
    stop.signal,
    (fault) => void reported.push(fault),
    async () => {
      if (++turns <= 2) throw error
      return 60_000
    },
  )
  await vi.waitFor(() => expect(turns).toBe(3))
  stop.abort()
  await running
  return reported
}

test('a turn that fails is reported and repeated; the loop never rejects', async () => {
  const error = new TypeError('no')
  expect(await reportedOf(error)).toEqual([error, error])
})

test('an absent database is no fault to report', async () => {
  expect(await reportedOf(Object.assign(new Error('away'), { code: '57P01' }))).toEqual([])
})

test('a ring during a turn brings the next one at once', async () => {
  const stop = new AbortController()
  const bell = createBell()
  let turns = 0
  const running = repeat(
    bell,
    stop.signal,
    () => {},
    async () => {
      if (++turns === 1) bell.ring()
      return 60_000
    },
  )
  await vi.waitFor(() => expect(turns).toBe(2))
  stop.abort()
  await running
})
