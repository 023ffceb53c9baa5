import { beforeEach, expect, test } from 'vitest'
import { waitAfter, watchJobs } from '../../src/app/daemon/jobs.states.ts'

let now: number
let beatAt: number
let watch: ReturnType<typeof watchJobs>

beforeEach(() => {
  now = 0
  beatAt = 0
  watch = watchJobs(['mail', 'housekeeping'], {
    now: () => now,
    beatAgeMs: (name) => (name === 'mail' ? now - beatAt : 0),
  })
})

const live = (name: string, ms: number) => {
  watch.started(name)
  now += ms
  beatAt = now
}

test('a job that fails repeatedly waits longer each time, at most 30 s', () => {
  expect([1, 2, 3, 4, 5, 6, 20].map(waitAfter)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
  live('mail', 100)
  expect(watch.failed('mail')).toBe(1)
  live('mail', 9_999)
  expect(watch.failed('mail')).toBe(2)
})

test('a job is down from its failure until its thread has run for 10 s; its next failure then counts as the first', () => {
  expect(watch.states()).toEqual({ mail: 'ok', housekeeping: 'ok' })
  live('mail', 100)
  watch.failed('mail')
  expect(watch.states()).toEqual({ mail: 'down', housekeeping: 'ok' })
  live('mail', 9_999)
  expect(watch.states().mail).toBe('down')
  now += 1
  expect(watch.states().mail).toBe('ok')
  expect(watch.failed('mail')).toBe(1)
})

test('a periodic job is down until a run succeeds', () => {
  live('housekeeping', 50)
  watch.failed('housekeeping')
  live('housekeeping', 50)
  expect(watch.failed('housekeeping')).toBe(2)
  expect(watch.states().housekeeping).toBe('down')
  live('housekeeping', 50)
  watch.ended('housekeeping')
  expect(watch.states().housekeeping).toBe('ok')
})

test('a job whose worker has completed no heartbeat for 15 s is stalled until the next heartbeat', () => {
  watch.started('mail')
  now = 14_999
  expect(watch.states().mail).toBe('ok')
  now = 15_000
  expect(watch.states()).toEqual({ mail: 'stalled', housekeeping: 'ok' })
  beatAt = 15_000
  now = 29_000
  expect(watch.states().mail).toBe('ok')
  now = 30_000
  expect(watch.states().mail).toBe('stalled')
})

test('a restarted thread has 15 s for its first heartbeat; a thread that waits for its restart is down', () => {
  watch.started('mail')
  now = 60_000
  watch.failed('mail')
  expect(watch.states().mail).toBe('down')
  now = 70_000
  watch.started('mail')
  now = 84_999
  expect(watch.states().mail).toBe('ok')
  now = 85_000
  expect(watch.states().mail).toBe('stalled')
})
