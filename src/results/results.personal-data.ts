import { statement } from '../store/statement.ts'
import type { PersonalDataPart } from '../store/work.ts'

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

/** The days on which a person was counted. */
export const personalData: PersonalDataPart = {
  name: 'results',
  read: ({ sql, accountId }, email) => sql(resultsOf, { accountId, email }),
}
