const maxCents = 999_999_999_999n

/** JavaScript prints 0.0000001 as `1e-7`. Such numbers round to zero cents. */
const decimalText = (value: number): string => (Math.abs(value) < 1e-6 && value >= 0 ? '0' : String(value))

/**
 * Returns an amount as text with two decimals (`1234.50`), or null if it is not a plain decimal, is negative, or rounds to more
 * than 9,999,999,999.99. Rounds half away from zero on the decimal digits: 1.005 becomes `1.01` (docs/reference/rules.md#deals).
 */
export const parseAmount = (value: number | string): string | null => {
  const text = typeof value === 'number' ? decimalText(value) : value
  const [, whole, fraction = ''] = /^0*(\d{1,10})(?:\.(\d+))?$/.exec(text) ?? []
  if (whole === undefined) return null
  const digits = fraction.padEnd(3, '0')
  const cents = BigInt(whole + digits.slice(0, 2)) + (digits[2]! >= '5' ? 1n : 0n)
  if (cents > maxCents) return null
  return `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`
}

/** Returns an amount's text as the JSON number of the API. */
export const toNumber = (text: string): number => Number(text)
