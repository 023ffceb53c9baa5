import { expect, test } from 'vitest'
import { parseSince } from '../../src/lib/since.ts'

const now = Date.UTC(2026, 10, 20, 12)

test.each([
  ['45s', now - 45_000],
  ['30m', now - 1_800_000],
  ['2h', now - 7_200_000],
  ['7d', now - 7 * 86_400_000],
  ['1w', now - 7 * 86_400_000],
  ['999999w', 0],
  ['2026-11-20', Date.UTC(2026, 10, 20)],
  ['2026-11-20T08:00Z', Date.UTC(2026, 10, 20, 8)],
  ['2026-11-20T08:00:00.5+02:00', Date.UTC(2026, 10, 20, 6) + 500],
])('%s is a start', (text, start) => {
  expect(parseSince(text, now)).toBe(start)
})

test.each(['', '2', 'h', '2 h', '-2h', '1e3s', '2h30m', 'yesterday', '2026-13-01', '1969-01-01', '2026', '20.11.2026'])(
  '%j is refused',
  (text) => {
    expect(() => parseSince(text, now)).toThrow('since must be an age such as 2h or a time such as')
  },
)
