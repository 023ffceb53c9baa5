import { expect, test, vi } from 'vitest'
import { createBell, repeat } from '../../src/queue/loop.ts'

test('a turn that fails is reported and repeated; the loop never rejects', async () => {
  const stop = new AbortController()
  const reported: unknown[] = []
  let turns = 0
  const running = repeat(
    createBell(),
    stop.signal,
    (error) => void reported.push(error),
    async () => {
      if (++turns <= 2) throw new TypeError('no')
      return 60_000
    },
  )
  await vi.waitFor(() => expect(turns).toBe(3))
  expect(reported).toHaveLength(2)
  stop.abort()
  await running
})

test('an absent database is no fault to report', async () => {
  const stop = new AbortController()
  const reported: unknown[] = []
  let turns = 0
  const running = repeat(
    createBell(),
    stop.signal,
    (error) => void reported.push(error),
    async () => {
      if (++turns <= 2) throw Object.assign(new Error('away'), { code: '57P01' })
      return 60_000
    },
  )
  await vi.waitFor(() => expect(turns).toBe(3))
  stop.abort()
  await running
  expect(reported).toEqual([])
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
