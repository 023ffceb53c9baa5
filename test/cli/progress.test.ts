import { expect, test } from 'vitest'
import { createProgress } from '../../src/cli/progress.ts'

const shown = (
  isTTY: boolean,
  steps: readonly (readonly [ms: number, rows: number, fraction: number | null])[],
): string[] => {
  let now = 0
  const written: string[] = []
  const screen = { isTTY, write: (text: string) => written.push(text) > 0 }
  const progress = createProgress(screen, 'row', () => now)
  for (const [ms, rows, fraction] of steps) {
    now = ms
    progress.update({ rows, fraction })
  }
  progress.stop()
  return written
}

test('without a terminal progress is a line every five seconds', () => {
  expect(
    shown(false, [
      [100, 0, 0],
      [4000, 400, 0.1],
      [10_000, 1000, 0.25],
      [11_000, 1100, 0.3],
    ]),
  ).toEqual(['25 %, 1,000 rows, 100 rows/s, 30 s left\n'])
})

test('on a terminal progress is one bar that disappears at the end', () => {
  const written = shown(true, [
    [1000, 0, 0],
    [1050, 10, 0.2],
    [2000, 1000, 0.5],
  ])
  expect(written).toHaveLength(3)
  expect(written[1]).toBe(`\r\u001b[K${'█'.repeat(12)}${'░'.repeat(12)} 50 %, 1,000 rows, 500 rows/s, 2 s left`)
  expect(written[2]).toBe('\r\u001b[K')
})

test('without a known total there is no percentage and no remaining time; earlier rows do not count into the rate', () => {
  const steps = [
    [0, 400, null],
    [6000, 1000, null],
  ] as const
  expect(shown(false, [...steps])).toEqual(['1,000 rows, 100 rows/s\n'])
})

test('one row is not called rows', () => {
  const steps = [
    [0, 0, null],
    [6000, 1, null],
    [12_000, 12, null],
  ] as const
  expect(shown(false, [...steps])).toEqual(['1 row, 0 rows/s\n', '12 rows, 1 row/s\n'])
})

test('the remaining time has at most 59 of the smaller unit', () => {
  const remaining = (fraction: number) =>
    /, ([^,]+) left/.exec(
      shown(false, [
        [0, 0, 0],
        [10_000, 1, fraction],
      ])[0]!,
    )![1]
  expect(remaining(10 / 129.7)).toBe('2 min')
  expect(remaining(10 / 7208)).toBe('1 h 59 min')
  expect(remaining(10 / 100)).toBe('1 min 30 s')
  expect(remaining(10 / 10.2)).toBe('1 s')
})
