import type { PersonalDataPart } from '../store/work.ts'
import { detailColumns, epochMs } from './messages.find.ts'

/** The messages to an address with their content and delivery reports, and the address's suppressions. */
export const personalData: readonly PersonalDataPart[] = [
  {
    name: 'messages',
    read: ({ sql, accountId }, email) =>
      sql(
        `select ${detailColumns}, (
           select coalesce(json_agg(json_build_object('kind', r.kind, 'at', ${epochMs('r.created_at')}) order by r.created_at), '[]')
           from message_reports r where r.account_id = m.account_id and r.message_id = m.id
         ) as reports
         from messages m where m.account_id = $1 and m.email = $2 order by m.id`,
        [accountId, email],
      ),
  },
  {
    name: 'suppressions',
    staysAtErasure: true,
    read: ({ sql, accountId }, email) =>
      sql(
        `select reason, ${epochMs('created_at')} as "createdAt" from suppressions
         where account_id = $1 and email = $2 order by reason`,
        [accountId, email],
      ),
  },
]
