/*
 * Digits of currencies are a table of ours. `Intl` knows how amounts are written, not how they are charged: it would
 * charge HUF 1,000 as 10. The digits are a table after ISO 4217. `net/stripe.ts` knows where Stripe counts differently.
 * Currencies to come must be added.
 */

import { z } from 'zod'
import { text } from '../lib/text.ts'

/** Building blocks for the shapes in studio.blocks.ts. */

export const Ref = text(200).min(1)

/** One line of text, which may contain merge tags. */
export const Line = text(500).trim().min(1)

export const BlockId = z.string().regex(/^(?!__proto__$)[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, - or _')

const family = /^([A-Za-z0-9 -]+|'[A-Za-z0-9 -]+'|"[A-Za-z0-9 -]+")$/
export const Font = z
  .string()
  .max(200)
  .refine(
    (names) => names.split(',').every((name) => family.test(name.trim())),
    'must be font names with commas between them',
  )

export const pixels = (min: number, max: number) => z.int().min(min).max(max)

export const Options = z
  .array(text(200).trim().min(1))
  .min(2)
  .max(10)
  .superRefine((options, context) => {
    for (const [i, option] of options.entries()) {
      // An answer is the text of its option, so options must be distinct.
      if (options.indexOf(option) < i) context.addIssue({ code: 'custom', path: [i], message: 'is a duplicate' })
    }
  })

export const ClockTime = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, { error: 'must be a time of day such as 09:00', abort: true })

const currencies = new Set(Intl.supportedValuesOf('currency'))
export const Currency = text(10)
  .toUpperCase()
  .refine((code) => currencies.has(code), 'must be a currency such as EUR')

const currenciesOfDigits: [digits: number, currencies: string[]][] = [
  [0, 'BIF CLP DJF GNF ISK JPY KMF KRW MGA PYG RWF UGX UYI VND VUV XAF XOF XPF'.split(' ')],
  [3, 'BHD IQD JOD KWD LYD OMR TND'.split(' ')],
  [4, 'CLF UYW'.split(' ')],
]

/**
 * Returns the number of decimals of a currency (ISO 4217): 2 for EUR, 0 for JPY. Intl is not used: it returns 0 for HUF, IDR and others,
 * as amounts are usually written, but they are charged with 2. MGA has 0 here: its subunit is a fifth, and Stripe charges whole units
 * only.
 */
export const currencyDigits = (currency: string): number =>
  currenciesOfDigits.find(([, currencies]) => currencies.includes(currency))?.[0] ?? 2
