const maxCents = 999_999_999_999n

/** `0.0000001` prints as `1e-7`: any number that small is zero to the cent. */
const decimalText = (value: number): string => (Math.abs(value) < 1e-6 && value >= 0 ? '0' : String(value))

/**
 * An amount as canonical text with two decimals (`1234.50`), or null when it is none: not a plain decimal, negative, or
 * above 9,999,999,999.99 once rounded. Rounds half away from zero on the decimal digits, so that 1.005 gives `1.01`
 * (decisions.md, Deals).
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

/** An amount's text as the JSON number that the API shows. */
export const toNumber = (text: string): number => Number(text)
