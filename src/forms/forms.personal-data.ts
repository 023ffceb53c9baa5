import type { PersonalDataPart } from '../store/work.ts'

// Every process loads this file at its start, so the contacts are imported when they are needed.

/** The unconfirmed signups of an address. */
export const personalData: PersonalDataPart = {
  name: 'signups',
  async read({ sql, accountId }, email) {
    const { contactsOf } = await import('../contacts/contacts.ts')
    return sql(
      `select s.list_id as "listId", s.form_id as "formId", s.fields, (extract(epoch from s.mailed_at) * 1000)::int8 as "mailedAt"
       from form_signups s join ${contactsOf('$1', '$2')} c on c.list_id = s.list_id and c.row_id = s.row_id
       where s.account_id = $1 order by s.list_id`,
      [accountId, email],
    )
  },
}
