import { statement } from '../store/statement.ts'
import type { PersonalDataPart } from '../store/work.ts'

const readBindingsFrom = statement(
  'bindings-from-address',
  { row: { subject: 'text', event: 'text' }, parameters: { accountId: 'text', email: 'text' } },
  `select subject_kind || ':' || subject_id as subject, event from lifecycle_bindings
   where account_id = :accountId and sender = :email order by 1, 2`,
)

/** The bindings whose emails come from an address. */
export const personalData: PersonalDataPart = {
  name: 'bindingsFrom',
  // A setting of the account, as the address of a sender is.
  staysAtErasure: true,
  read: ({ sql, accountId }, email) => sql(readBindingsFrom, { accountId, email }),
}
