import type { CheckoutItem, LeafBlock } from './studio.blocks.ts'
import { currencyDigits } from './studio.shapes.ts'

/** What the mail itself says around the author's blocks, in html and text alike. */
export const words = {
  view: 'View this mail in your browser',
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
      // Between code and digits stands a blank that does not break; a terminal shows it as another character.
      .replace('\u00a0', ' ')
  )
}

const inCents = ({ amount, quantity }: CheckoutItem): number => Math.round(amount * 100) * quantity

type Checkout = Extract<LeafBlock, { type: 'checkout' }>['props']

/** What each item costs, `2 × Seat` and `USD 40.00`, and all of them. */
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

/** `30 minutes, Europe/Berlin` */
export const bookingLine = ({ durationMinutes, timezone }: Booking): string => `${durationMinutes} minutes, ${timezone}`
