import { describe, expect, test } from 'vitest'
import { parseAmount, toNumber } from '../../src/lib/money.ts'

describe('amounts', () => {
  test.each([
    [0, '0.00'],
    [-0, '0.00'],
    ['0', '0.00'],
    [1234.5, '1234.50'],
    ['1234.5', '1234.50'],
    ['007', '7.00'],
    [1.005, '1.01'],
    ['1.005', '1.01'],
    ['1.00499999999999999999999', '1.00'],
    [0.615, '0.62'],
    [8.345, '8.35'],
    ['0.005', '0.01'],
    ['0.004', '0.00'],
    ['0.995', '1.00'],
    [1e3, '1000.00'],
    [1e-7, '0.00'],
    [5e-324, '0.00'],
    ['9999999999.99', '9999999999.99'],
    [9_999_999_999.99, '9999999999.99'],
    ['9999999999.994', '9999999999.99'],
  ])('%j is %s', (value, text) => {
    expect(parseAmount(value)).toBe(text)
  })

  test.each([
    ['9999999999.995'],
    [10_000_000_000],
    ['99999999999999999999999'],
    [1e21],
    [-1],
    [-0.001],
    [-1e-9],
    ['-1'],
    ['+1'],
    ['1e3'],
    ['0x10'],
    ['1,000'],
    ['1.'],
    ['.5'],
    [' 1'],
    ['1\n'],
    ['١'],
    [''],
    ['NaN'],
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
  ])('%j is refused', (value) => {
    expect(parseAmount(value)).toBeNull()
  })

  test('an amount is shown as a number of at most two decimals', () => {
    expect(toNumber('1234.50')).toBe(1234.5)
    expect(JSON.stringify(toNumber('9999999999.99'))).toBe('9999999999.99')
  })
})
