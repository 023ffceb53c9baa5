import { addressPattern, erasedAddress } from '../lib/erased.ts'
import { statement } from '../store/statement.ts'
import type { Listener, PersonalDataPart } from '../store/work.ts'

/** The payments of an address, open ones included, in the export of its personal data. */
export const personalData: PersonalDataPart = {
  name: 'payments',
  // Loaded lazily: every process loads this file, few export data.
  read: async (reader, email) => (await import('./checkout.find.ts')).paymentsOf(reader, email),
}

const erasePayer = statement(
  'erase-payer',
  { parameters: { accountId: 'text', email: 'text', pattern: 'text' } },
  `update payment_orders set email = case when email = :email then '' else email end,
     items = regexp_replace(items::text, :pattern, ${erasedAddress}, 'gi')::jsonb
   where account_id = :accountId and (email = :email or items::text ~* :pattern)`,
)

/** Payments are business records and stay when their payer is erased; the address is removed from them. */
export const forgetPayer: Listener = {
  async contactsRemoved({ sql, accountId }, { listId, email }) {
    if (listId !== undefined || email === undefined) return
    await sql(erasePayer, { accountId, email, pattern: addressPattern(email) })
  },
}
