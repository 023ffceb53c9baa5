import { expect, onTestFinished, test, vi } from 'vitest'
import { alarmStepMs, createAlarms, createBell, repeat } from '../../src/queue/loop.ts'

/** Repeats a turn that fails twice and then succeeds; resolves with the reported errors. */
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
  await expect.poll(() => turns).toBe(3)
  stop.abort()
  await running
  return reported
}

test('a turn that fails is reported and repeated; the loop never rejects', async () => {
  const error = new TypeError('no')
  expect(await reportedOf(error)).toEqual([error, error])
})

test('an unavailable database is not reported as an error', async () => {
  expect(await reportedOf(Object.assign(new Error('away'), { code: '57P01' }))).toEqual([])
})

test('a ring during a turn starts the next turn at once', async () => {
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
  await expect.poll(() => turns).toBe(2)
  stop.abort()
  await running
})

test('a turn knows whether it is more than the end of a wait', async () => {
  const stop = new AbortController()
  const bell = createBell()
  const asked: boolean[] = []
  const running = repeat(
    bell,
    stop.signal,
    () => {},
    async (isAsked) => {
      asked.push(isAsked)
      if (asked.length === 2) bell.ring()
      if (asked.length === 4) throw new Error('no')
      return asked.length === 6 ? 60_000 : 1
    },
  )
  await expect.poll(() => asked.length).toBe(6)
  stop.abort()
  await running
  expect(asked).toEqual([true, false, true, false, true, false])
})

test('a wait never ends early, so one search finds the work that is due then', async () => {
  const { wait } = createBell()
  for (let i = 0; i < 40; i++) {
    const endsAt = performance.now() + 4.9
    await wait(4.9)
    expect(performance.now()).toBeGreaterThanOrEqual(endsAt)
  }
})

test('alarms ring after their wait, once for all of a step, and not for a wait of more than a minute', () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const rings: number[] = []
  const begin = performance.now()
  const alarms = createAlarms(() => rings.push(performance.now() - begin))
  for (const waitMs of [10_000, 10_000, 10_001, 8_000, 60_001, 3_600_000]) alarms.set(waitMs)
  vi.advanceTimersByTime(7_999)
  expect(rings).toEqual([])
  vi.advanceTimersByTime(4_000_000)
  expect(rings.length).toBeGreaterThanOrEqual(2)
  expect(rings.length).toBeLessThanOrEqual(3)
  for (const waitMs of [8_000, 10_000, 10_001])
    expect(rings.some((ring) => ring >= waitMs && ring <= waitMs + alarmStepMs)).toBe(true)
  alarms.set(1000)
  alarms.clear()
  vi.advanceTimersByTime(60_000)
  expect(rings.length).toBeLessThanOrEqual(3)
})
