import type { PersonalDataPart } from '../store/work.ts'

/** The unconfirmed signups of an address. */
export const personalData: PersonalDataPart = {
  name: 'signups',
  read: ({ sql, accountId }, email) =>
    sql(
      `select s.list_id as "listId", s.form_id as "formId", s.fields, (extract(epoch from s.mailed_at) * 1000)::int8 as "mailedAt"
       from form_signups s
       join contacts c on c.account_id = s.account_id and c.list_id = s.list_id and c.row_id = s.row_id
       where c.account_id = $1 and c.email = $2 order by s.list_id`,
      [accountId, email],
    ),
}
