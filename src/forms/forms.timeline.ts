import { contactsOf, timelinePart } from '../contacts/contacts.ts'

/** The unconfirmed signups of an address. */
export const timeline = timelinePart(
  'signups',
  `select s.mailed_at as at, 'form.submitted' as kind, s.form_name as title, s.form_id as id
   from form_signups s join ${contactsOf('$1', '$2')} c on c.list_id = s.list_id and c.row_id = s.row_id
   where s.account_id = $1`,
)
