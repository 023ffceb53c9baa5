import { expect, test } from 'vitest'
import { durationOf, isIsoTime, parseDuration, parseSince, parseTime } from '../../src/lib/since.ts'

const now = Date.UTC(2026, 10, 20, 12)

test.each([
  ['45s', now - 45_000],
  ['30m', now - 1_800_000],
  ['2h', now - 7_200_000],
  ['7d', now - 7 * 86_400_000],
  ['1w', now - 7 * 86_400_000],
  ['999999w', 0],
  ['2h30m', now - 9_000_000],
  ['1w2d3h4m5s', now - 788_645_000],
  ['2026-11-20', Date.UTC(2026, 10, 20)],
  ['2026-11-20T08:00Z', Date.UTC(2026, 10, 20, 8)],
  ['2026-11-20T08:00:00.5+02:00', Date.UTC(2026, 10, 20, 6) + 500],
])('%s is a start', (text, start) => {
  expect(parseSince(text, now)).toBe(start)
})

test.each([
  '',
  '2',
  'h',
  '2 h',
  '-2h',
  '1e3s',
  '30m2h',
  '2h2h',
  '2h 30m',
  '2h30',
  '1.5h',
  'yesterday',
  '2026-13-01',
  '1969-01-01',
  '2026-02-29',
  '2026-02-29T08:00Z',
  '2026-04-31T08:00:00+02:00',
  '2026-11-20T24:01Z',
  '2026-11-20T23:59:60Z',
  '2026',
  '20.11.2026',
])('%j is refused', (text) => {
  expect(() => parseSince(text, now)).toThrow('since must be an age such as 2h or a time such as')
})

test('a duration has several units, the larger first', () => {
  expect([parseDuration('4m50s'), parseDuration('1d12h'), durationOf('0s'), durationOf('x')]).toEqual([
    290_000,
    129_600_000,
    0,
    null,
  ])
  expect(parseTime('1h30m', now)).toBe(now + 5_400_000)
  for (const text of ['', 's4', '50s4m', '4m50'])
    expect(() => parseDuration(text), text).toThrow(`"${text}" is not a duration`)
})

test.each([
  ['2026-11-20', true],
  ['2024-02-29T23:30:00.5-02:00', true],
  ['2026-11-20T24:00Z', true],
  ['2026-02-29', false],
  ['2026-02-29T10:00Z', false],
  ['2026-11-20T10:00', false],
  ['2026-11-20T10:00:00+0200', false],
])('whether %s is a day or a time with an offset: %s', (text, is) => {
  expect(isIsoTime(text)).toBe(is)
})
