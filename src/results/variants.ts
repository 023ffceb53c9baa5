import type { AccountSql } from '../store/work.ts'
import { otherScopes } from './results.rows.ts'

/** Emails that were sent, and the people who opened, clicked or answered them. */
export interface VariantCounts {
  sent: number
  opened: number
  clicked: number
  answered: number
}

/**
 * Counts the people who did something with the emails of a batch, by variant, as `countSentByVariant`. Only those with changes that
 * are not added up yet are looked up twice: grouping all people takes twice as long, and spills to disk.
 */
export const countPeopleByVariant = async (
  { sql, accountId }: AccountSql,
  batch: string,
  variant: (email: string) => string,
): Promise<Map<number, Omit<VariantCounts, 'sent'>>> => {
  const rows = await sql<Omit<VariantCounts, 'sent'> & { variant: number }>(
    `with fresh as materialized (
       select email, bool_or(metric = 'clicked') as clicked, bool_or(metric = 'answered') as answered
       from message_result_changes
       where account_id = $1 and cause = $2 and email <> '' and metric in ('opened', 'clicked', 'answered') group by email
     ), known as (
       select email, clicked is not null as clicked, answered is not null as answered from message_people
       where account_id = $1 and scope = $2 and link = '' and ${otherScopes('scope')}
         and (opened is not null or clicked is not null or answered is not null)
     ), did as (
       select * from known k where not exists (select from fresh f where f.email = k.email)
       union all
       select f.email, f.clicked or p.clicked is not null, f.answered or p.answered is not null from fresh f
         left join message_people p on p.account_id = $1 and p.email = f.email and p.scope = $2 and p.link = ''
     )
     select (${variant('email')})::int as variant, count(*)::int as opened,
       (count(*) filter (where clicked))::int as clicked, (count(*) filter (where answered))::int as answered
     from did group by 1`,
    [accountId, batch],
  )
  return new Map(rows.map(({ variant: number, ...counts }) => [number, counts]))
}
