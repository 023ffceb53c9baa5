import type { PersonalDataPart } from '../store/work.ts'

const epochMs = (column: string) => `(extract(epoch from ${column}) * 1000)::int8`

/** An address's registrations. Erasing the address removes it and the name from them. */
export const personalData: readonly PersonalDataPart[] = [
  {
    name: 'registrations',
    read: ({ sql, accountId }, email) =>
      sql(
        `select r.id, r.webinar_id as "webinarId", w.title, r.name, r.status, ${epochMs('r.created_at')} as "createdAt",
           ${epochMs('r.updated_at')} as "updatedAt"
         from webinar_registrations r join webinars w on w.account_id = r.account_id and w.id = r.webinar_id
         where r.account_id = $1 and r.email = $2 order by r.id`,
        [accountId, email],
      ),
  },
]
