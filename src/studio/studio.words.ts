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

const money = (amount: number, currency: string): string => {
  const digits = currencyDigits(currency)
  const options = { style: 'currency', currency, currencyDisplay: 'code' } as const
  return (
    new Intl.NumberFormat('en', { ...options, minimumFractionDigits: digits, maximumFractionDigits: digits })
      .format(amount)
      // Intl puts a no-break space between code and digits, which some terminals don't show as a space.
      .replace('\u00a0', ' ')
  )
}

const inCents = ({ amount, quantity }: CheckoutItem): number => Math.round(amount * 100) * quantity

type Checkout = Extract<LeafBlock, { type: 'checkout' }>['props']

/** Returns the price of each item, such as `2 × Seat` and `USD 40.00`, and the total. */
export const priceLines = ({
  items,
  currency,
}: Checkout): { items: [name: string, price: string][]; total: string } => ({
  items: items.map((item) => [
    item.quantity === 1 ? item.name : `${item.quantity} × ${item.name}`,
    money(inCents(item) / 100, currency),
  ]),
  total: money(items.reduce((cents, item) => cents + inCents(item), 0) / 100, currency),
})

type Booking = Extract<LeafBlock, { type: 'booking' }>['props']

/** Returns a text such as `30 minutes, Europe/Berlin`. */
export const bookingLine = ({ durationMinutes, timezone }: Booking): string => `${durationMinutes} minutes, ${timezone}`
