import type { HeldPart } from '../store/work.ts'

/** What an address set out to pay, and did. */
export const held: HeldPart = {
  name: 'payments',
  // Loaded when asked for: all processes list this, and few ask.
  read: async (reader, email) => (await import('./checkout.find.ts')).paymentsOf(reader, email),
}
