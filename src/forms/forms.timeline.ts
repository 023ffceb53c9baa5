import { contactsOf } from '../contacts/contacts.rows.ts'
import { timelinePart } from '../contacts/contacts.ts'

/**
 * The first submission of each form by an address, the unconfirmed signups of forms that were deleted, and the consents
 * that are not in the fields of a contact.
 */
export const timeline = timelinePart(
  'signups',
  `select p.submitted_at as at, 'form.submitted' as kind, f.name as title, f.id
   from (select form_id, submitted_at from form_people where account_id = :accountId and email = :email offset 0) p
     join forms f on f.account_id = :accountId and f.id = p.form_id
   union all
   select s.mailed_at, 'form.submitted', s.form_name, s.form_id
   from form_signups s join ${contactsOf(':accountId', ':email')} c on c.list_id = s.list_id and c.row_id = s.row_id
   where s.account_id = :accountId and not exists (select from forms f where f.account_id = :accountId and f.id = s.form_id)
   union all
   select o.at, 'consent.given', 'form ' || o.form_name, o.form_id
   from (select * from form_consents where account_id = :accountId and email = :email offset 0) o
   where not exists (
     select from ${contactsOf(':accountId', ':email')} c
     where c.list_id = o.list_id
       and c.fields ->> 'consent_at' = to_char(o.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
   )`,
)
