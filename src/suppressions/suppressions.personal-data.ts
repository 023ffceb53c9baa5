import { epochMs } from '../store/epoch-ms.ts'
import { statement } from '../store/statement.ts'
import type { PersonalDataPart } from '../store/work.ts'
import { hasTopic, joinTopic } from './suppressions.read.ts'

const suppressionsOf = statement(
  'export-suppressions',
  { row: { reason: 'text', createdAt: 'int8', topic: 'text?' }, parameters: { accountId: 'text', email: 'text' } },
  `select s.reason, ${epochMs('s.created_at')} as "createdAt", t.name as topic from suppressions s ${joinTopic}
   where s.account_id = :accountId and s.email = :email and ${hasTopic} order by s.reason, s.topic_id`,
)

/** Why an address gets no email, or no marketing. */
export const personalData: PersonalDataPart = {
  name: 'suppressions',
  staysAtErasure: true,
  read: ({ sql, accountId }, email) => sql(suppressionsOf, { accountId, email }),
}
