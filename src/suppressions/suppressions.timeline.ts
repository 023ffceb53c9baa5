import { timelinePart } from '../contacts/contacts.ts'
import { hasTopic, joinTopic } from './suppressions.read.ts'

/** The suppressions of an address, and the topics that it left. */
export const timeline = timelinePart(
  'suppressions',
  `select s.created_at as at, case when t.id is null then 'address.suppressed' else 'topic.left' end as kind,
     coalesce(t.name, s.reason) as title, coalesce(t.id, s.email) as id
   from suppressions s ${joinTopic} where s.account_id = :accountId and s.email = :email and ${hasTopic}`,
)
