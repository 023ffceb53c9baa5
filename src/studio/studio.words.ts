import { number } from '../lib/quantity.ts'
import type { CheckoutItem, LeafBlock } from './studio.blocks.ts'
import { currencyDigits } from './studio.shapes.ts'

/** Texts of the email around the author's blocks, in HTML and text. */
export const words = {
  view: 'View this email in your browser',
  unsubscribe: 'Unsubscribe',
  form: 'Fill in the form',
  booking: 'Choose a time',
  checkout: 'Go to checkout',
} as const

/** The language in which numbers are written; missing: English. */
type Language = string | null | undefined

const money = (amount: number, currency: string, lang: Language): string => {
  const digits = currencyDigits(currency)
  const options = { style: 'currency', currency } as const
  return (
    new Intl.NumberFormat(lang ?? 'en', { ...options, minimumFractionDigits: digits, maximumFractionDigits: digits })
      .format(amount)
      // Intl puts no-break spaces between currency and digits, which some terminals don't show as a space.
      .replace(/[\u00a0\u202f]/g, ' ')
  )
}

const inCents = ({ amount, quantity }: CheckoutItem): number => Math.round(amount * 100) * quantity

type Checkout = Extract<LeafBlock, { type: 'checkout' }>['props']

/** Returns the price of each item, such as `2 × Seat` and `$40.00`, and the total. */
export const priceLines = (
  { items, currency }: Pick<Checkout, 'items' | 'currency'>,
  lang?: Language,
): { items: [name: string, price: string][]; total: string } => ({
  items: items.map((item) => [
    item.quantity === 1 ? item.name : `${number(item.quantity, lang)} × ${item.name}`,
    money(inCents(item) / 100, currency, lang),
  ]),
  total: money(items.reduce((cents, item) => cents + inCents(item), 0) / 100, currency, lang),
})

type Booking = Extract<LeafBlock, { type: 'booking' }>['props']

/** Returns a text such as `30 minutes, Europe/Berlin`. */
export const bookingLine = (
  { durationMinutes, timezone }: Pick<Booking, 'durationMinutes' | 'timezone'>,
  lang: Language,
): string => `${number(durationMinutes, lang)} minutes, ${timezone}`
