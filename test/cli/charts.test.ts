import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import { isAsciiOnly, meter, sparkline } from '../../src/cli/draw/charts.ts'
import { type Canvas, drawBars, drawGauges, drawTrends, widthOf } from '../../src/cli/draw/draw.ts'
import { randomOfTest } from '../support/random.ts'

const canvas = (columns: number, change: Partial<Canvas> = {}): Canvas => ({
  ...{ columns, isColoured: false, isAscii: false },
  ...change,
})

describe('sparkline', () => {
  test('goes from zero, which has a mark of its own, to the highest value', () => {
    expect(sparkline([0, 1, 2, 3, 4, 5, 6, 7, 8], 9, false)).toBe('·▁▂▃▄▅▆▇█')
    expect(sparkline([0, 1, 2, 3, 4, 5, 6, 7, 8], 9, true)).toBe('.:-=+*#%@')
    expect(sparkline([1, 1_000_000], 2, false)).toBe('▁█')
    expect(sparkline([5e-324, 1], 2, false)).toBe('▁█')
    expect(sparkline([0.25, 0.5], 2, false)).toBe('▄█')
  })
  test('of nothing, of zeros, and of values that have no length', () => {
    expect(sparkline([], 10, false)).toBe('')
    expect(sparkline([1, 2], 0, false)).toBe('')
    expect(sparkline([0, 0, 0], 3, false)).toBe('···')
    expect(sparkline([-5, Number.NaN, Number.POSITIVE_INFINITY, 2], 4, false)).toBe('···█')
  })
  test('widens few values and condenses many, each into the cells that it has', () => {
    expect(sparkline([1, 2], 5, false)).toBe('▄▄██')
    expect(sparkline([1, 2], 80, false)).toBe('▄▄▄███')
    expect(sparkline([0, 0, 4, 4, 8, 8], 3, false)).toBe('·▄█')
    expect(
      widthOf(
        sparkline(
          Array.from({ length: 365 }, (_, day) => day),
          60,
          false,
        ),
      ),
    ).toBe(60)
  })
})

test('a meter has one width and is never fuller than full', () => {
  expect(meter(0.5, 4)).toBe('██░░')
  expect(meter(0.999, 4)).toBe('███░')
  expect(meter(7, 4)).toBe('████')
  expect(meter(-1, 4)).toBe('░░░░')
  expect(meter(0.5, 4, true)).toBe('##--')
})

describe('drawBars', () => {
  test('aligns labels and values, and scales to the highest value', () => {
    const bars = [
      { label: 'https://shop.example/', value: 1200 },
      { label: '日本語', value: 600 },
      { label: 'one', value: 1 },
      { label: 'none', value: 0 },
    ]
    expect(drawBars(bars, canvas(46))).toEqual([
      'https://shop.exampl…  1,200  █████████████████',
      '日本語                  600  ████████▌',
      'one                       1  ▏',
      'none                      0',
    ])
    expect(drawBars(bars.slice(0, 3), canvas(46, { isAscii: true })).slice(1)).toEqual([
      '日本語                  600  #########',
      'one                       1  #',
    ])
  })
  test('without values, without bars, and with negative values', () => {
    expect(drawBars([], canvas(80))).toEqual([])
    expect(drawBars([{ label: 'a', value: 0 }], canvas(80))).toEqual(['a  0'])
    expect(
      drawBars(
        [
          { label: 'a', value: -3 },
          { label: 'b', value: 3 },
        ],
        canvas(12),
      ),
    ).toEqual(['a  -3', 'b   3  █████'])
  })
  test('prints a text in place of the number, and no control characters', () => {
    const bars = [{ label: 'a\u001b[2Jb\nc\u202e', value: 1, text: '1 of \u001b[31m2' }]
    expect(drawBars(bars, canvas(30))).toEqual(['ab c   1 of 2  ███████████████'])
  })
})

test('gauges show the share of a limit, and its colour only where colours are wanted', () => {
  const gauges = [
    { label: 'contacts', value: 79, limit: 100, text: '79 of 100' },
    { label: 'sends', value: 80, limit: 100 },
    { label: 'calls', value: 101, limit: 100 },
    { label: 'embed', value: 0, limit: 0 },
    { label: 'free', value: 5, limit: null },
  ]
  const plain = drawGauges(gauges, canvas(31))
  expect(plain).toEqual([
    'contacts  79 of 100  ███████░░░',
    'sends            80  ████████░░',
    'calls           101  ██████████',
    'embed             0  ██████████',
    'free              5',
  ])
  const coloured = drawGauges(gauges, canvas(31, { isColoured: true }))
  expect(coloured.map(stripVTControlCharacters)).toEqual(plain)
  expect(coloured.map((line) => line.split('\u001b[')[1]?.split('m')[0] ?? null)).toEqual([
    null,
    '33',
    '31',
    '31',
    null,
  ])
})

test('trends have a line each, with its own scale', () => {
  expect(
    drawTrends(
      [
        { label: 'sent', values: [0, 1000, 2000] },
        { label: 'opened', values: [1, 2, 0], text: '3 people' },
        { label: 'none', values: [] },
      ],
      canvas(24),
    ),
  ).toEqual(['sent       3,000  ··▄▄██', 'opened  3 people  ▄▄██··', 'none           0'])
})

test('no line is wider than the terminal, whatever its labels, values and width are', () => {
  const random = randomOfTest()
  const letters = ['a', '語', '👩‍🚀', 'é', ' ', '/', '\t']
  const text = () => Array.from({ length: random.between(0, 40) }, () => random.pick(letters)).join('')
  for (let run = 0; run < 60; run++) {
    const columns = random.between(1, 130)
    const rows = Array.from({ length: random.between(0, 6) }, () => ({
      ...{ label: text(), value: random.between(-10, 10_000_000), limit: random.pick([null, 0, 50_000]) },
      values: Array.from({ length: random.between(0, 400) }, () => random.between(0, 1000)),
    }))
    const all = canvas(columns, { isAscii: random.pick([true, false]), isColoured: random.pick([true, false]) })
    for (const line of [...drawBars(rows, all), ...drawGauges(rows, all), ...drawTrends(rows, all)])
      expect(widthOf(stripVTControlCharacters(line)), JSON.stringify(line)).toBeLessThanOrEqual(columns)
  }
})

test.each([
  [{ TERM: 'xterm-256color' }, false],
  [{ TERM: 'dumb' }, true],
  [{ TERM: 'linux' }, true],
  [{ TERM: 'xterm', NO_UNICODE: '1' }, true],
  [{ TERM: 'xterm', NO_UNICODE: '' }, false],
  [{}, false],
])('%o: ASCII only is %s', (env, expected) => {
  expect(isAsciiOnly(env)).toBe(expected)
})
