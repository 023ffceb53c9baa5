import { addressPattern } from '../lib/erased.ts'
import { typed } from '../store/column-types.ts'
import { epochMs } from '../store/epoch-ms.ts'
import { statement } from '../store/statement.ts'
import type { PersonalDataPart } from '../store/work.ts'
import { detailList, detailTypes } from './messages.find.ts'

const messagesTo = statement(
  'export-messages',
  {
    row: { ...detailTypes, reports: typed<{ kind: string; at: number }[]>('json') },
    parameters: { accountId: 'text', email: 'text' },
  },
  `select ${detailList}, (
     select coalesce(json_agg(json_build_object('kind', r.kind, 'at', ${epochMs('r.created_at')}) order by r.created_at), '[]')
     from message_reports r where r.account_id = m.account_id and r.message_id = m.id
   ) as reports
   from messages m where m.account_id = :accountId and m.email = :email order by m.id`,
)

const messagesNaming = statement(
  'messages-naming-address',
  {
    row: {
      id: 'text',
      replyTo: 'text?',
      headers: typed<Record<string, string> | null>('jsonb'),
      createdAt: 'int8',
    },
    parameters: { accountId: 'text', email: 'text', pattern: 'text' },
  },
  `select id, case when reply_to = :email then reply_to end as "replyTo", (
     select jsonb_object_agg(key, value) from jsonb_each_text(headers) where value ~* :pattern
   ) as headers, ${epochMs('created_at')} as "createdAt"
   from messages where account_id = :accountId and email <> :email and (reply_to = :email or headers::text ~* :pattern) order by id`,
)

/**
 * The messages to an address with their content and delivery reports, and the messages to others that name it in their
 * Reply-To or their own headers.
 */
export const personalData: readonly PersonalDataPart[] = [
  {
    name: 'messages',
    read: ({ sql, accountId }, email) => sql(messagesTo, { accountId, email }),
  },
  {
    name: 'messagesNaming',
    read: ({ sql, accountId }, email) => sql(messagesNaming, { accountId, email, pattern: addressPattern(email) }),
  },
]
