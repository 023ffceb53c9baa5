import { addressPattern } from '../lib/erased.ts'
import { typed } from '../store/column-types.ts'
import { statement } from '../store/statement.ts'
import type { PersonalDataPart } from '../store/work.ts'
import { detailList, detailTypes, epochMs } from './messages.find.ts'

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

const resultsOf = statement(
  'export-results',
  {
    row: { scope: 'text', opened: 'text', clicked: 'text', answered: 'text', unsubscribed: 'text' },
    parameters: { accountId: 'text', email: 'text' },
  },
  `select scope, min(opened)::text as opened, min(clicked)::text as clicked, min(answered)::text as answered,
     min(unsubscribed)::text as unsubscribed
   from (
     select scope, opened, clicked, answered, unsubscribed from message_people where account_id = :accountId and email = :email
     union all
     select s.scope, case when c.metric <> 'unsubscribed' then c.day end, case when c.metric = 'clicked' then c.day end,
       case when c.metric = 'answered' then c.day end, case when c.metric = 'unsubscribed' then c.day end
     from message_result_changes c cross join lateral (values (c.day::text), (c.project_id), (c.cause)) s(scope)
     where c.account_id = :accountId and c.email = :email and s.scope is not null
   ) p group by scope order by scope`,
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
  {
    name: 'results',
    read: ({ sql, accountId }, email) => sql(resultsOf, { accountId, email }),
  },
]
