import { z } from 'zod'
import { text } from '../lib/text.ts'

/** The parts that the shapes of the blocks are made of (studio.blocks.ts). */

export const Ref = text(200).min(1)

/** One line of text that people read, merge tags in it. */
export const Line = text(500).trim().min(1)

export const BlockId = z.string().regex(/^(?!__proto__$)[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, - or _')

export const Color = z.string().regex(/^#([0-9a-f]{3}|[0-9a-f]{6})$/i, 'must be a colour such as #1a2b3c')

const family = `([A-Za-z0-9 -]+|'[A-Za-z0-9 -]+'|"[A-Za-z0-9 -]+")`
export const Font = z
  .string()
  .max(200)
  .regex(new RegExp(`^\\s*${family}\\s*(,\\s*${family}\\s*)*$`), 'must be font names with commas between them')

/** A length in pixels. */
export const pixels = (min: number, max: number) => z.int().min(min).max(max)

export const Options = z
  .array(text(200).trim().min(1))
  .min(2)
  .max(10)
  .superRefine((options, context) => {
    for (const [i, option] of options.entries()) {
      // An answer is an option's text: two of the same could not be told apart.
      if (options.indexOf(option) < i) context.addIssue({ code: 'custom', path: [i], message: 'is there already' })
    }
  })

const isTimezone = (name: string): boolean => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}
export const Timezone = z
  .string()
  .max(100)
  // An offset is no zone: it knows no summer time.
  .refine((name) => /^[A-Za-z]/.test(name) && isTimezone(name), 'must be a time zone such as Europe/Berlin')

export const ClockTime = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, { error: 'must be a time of day such as 09:00', abort: true })

const currencies = new Set(Intl.supportedValuesOf('currency'))
export const Currency = text(10)
  .toUpperCase()
  .refine((code) => currencies.has(code), 'must be a currency such as EUR')

const currenciesOfDigits: [digits: number, currencies: string[]][] = [
  [0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'.split(' ')],
  [3, 'BHD IQD JOD KWD LYD OMR TND'.split(' ')],
  [4, 'CLF UYW'.split(' ')],
]

/**
 * How many decimals an amount of the currency has (ISO 4217): 2 for EUR, 0 for JPY. Not asked of Intl: that knows how people
 * write an amount, and for HUF, IDR and others it is without the two decimals in which they are charged.
 */
export const currencyDigits = (currency: string): number =>
  currenciesOfDigits.find(([, currencies]) => currencies.includes(currency))?.[0] ?? 2
