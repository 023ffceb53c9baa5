import { describe, expect, test } from 'vitest'
import { askedQuietMs, nextRetryMs, timeoutBackoffMs } from '../../src/lib/backoff.ts'

const schedule = [10, 60, 300, 900, 3600, 7200, 14400].map((seconds) => seconds * 1000)

describe('backoff', () => {
  test('8 attempts are made in about 7.4 hours', () => {
    expect(nextRetryMs(7, 0.5)).not.toBeNull()
    expect(nextRetryMs(8, 0.5)).toBeNull()
    const total = schedule.reduce((sum, _, i) => sum + nextRetryMs(i + 1, 0.5)!, 0)
    expect(total / 3_600_000).toBeCloseTo(7.35, 1)
  })

  test.each(schedule.map((interval, i) => [i + 1, interval]))('attempt %i waits %i ms ±20 %%', (made, interval) => {
    expect(nextRetryMs(made, 0.5)).toBe(interval)
    expect(nextRetryMs(made, 0)).toBe(interval * 0.8)
    expect(nextRetryMs(made, 0.999999999)).toBe(interval * 1.2)
  })

  test('after the last attempt there is no retry, whatever the receiver asks for', () => {
    expect(nextRetryMs(8, 0.5)).toBeNull()
    expect(nextRetryMs(8, 0.5, 60)).toBeNull()
  })

  test.each([
    ['shorter than the interval does not shorten it', 5, 0.5, 60_000],
    ['longer than the interval lengthens it', 90, 0, 90_000],
    ['is spread upwards, so that not all come back at once', 90, 0.5, 99_000],
    ['longer than the jittered interval lengthens it', 60, 0, 60_000],
    ['of twice the interval is honoured', 120, 0.5, 120_000],
    ['is jittered to at most twice the interval', 119, 0.999, 120_000],
    ['beyond twice the interval is capped there', 86_400, 0.5, 120_000],
  ])('a Retry-After %s', (_, retryAfterSeconds, random, waited) => {
    expect(nextRetryMs(2, random, retryAfterSeconds)).toBe(waited)
  })

  test.each([
    [30, 0, 30_000],
    [30, 0.5, 33_000],
    [86_400, 0.5, 3_600_000],
  ])(
    'a Retry-After of %i s pauses an endpoint for that time, jittered upwards, and at most an hour',
    (seconds, random, ms) => {
      expect(askedQuietMs(seconds, random)).toBe(ms)
    },
  )

  test.each([
    [0, 0],
    [1, 0],
    [2, 1000],
    [5, 8000],
    [8, 60_000],
    [500, 60_000],
  ])('after %i consecutive timeouts an endpoint is paused for %i ms ±20 %%', (timeouts, ms) => {
    expect(timeoutBackoffMs(timeouts, 0.5)).toBe(ms)
    expect(timeoutBackoffMs(timeouts, 0)).toBe(ms * 0.8)
  })
})
