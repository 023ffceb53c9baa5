import type { Work } from '../../store/work.ts'

/** Emails that were sent, and the people who opened, clicked or answered them. */
export interface VariantCounts {
  sent: number
  opened: number
  clicked: number
  answered: number
}

/**
 * Counts the emails of a batch, and what people did, by variant. `prefix`: the prefix of the keys of its messages.
 * `variant`: returns an SQL expression of the variant's number for an address. Erased people are left out.
 */
export const countByVariant = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  batch: string,
  prefix: string,
  variant: (email: string) => string,
): Promise<Map<number, VariantCounts>> => {
  const rows = await sql<VariantCounts & { variant: number }>(
    `with got as (
       select email from messages
       where account_id = $1 and key > $2 and key < $3 and email <> '' and status = 'sent'
     ), did as (
       select email, bool_or(opened) as opened, bool_or(clicked) as clicked, bool_or(answered) as answered from (
         select email, opened is not null as opened, clicked is not null as clicked, answered is not null as answered
         from message_people where account_id = $1 and scope = $4 and link = ''
         union all
         select email, metric in ('opened', 'clicked', 'answered'), metric = 'clicked', metric = 'answered'
         from message_result_changes where account_id = $1 and cause = $4 and email is not null
       ) d group by email
     )
     select (${variant('g.email')})::int as variant, count(*)::int as sent,
       (count(*) filter (where d.opened or d.clicked or d.answered))::int as opened,
       (count(*) filter (where d.clicked))::int as clicked, (count(*) filter (where d.answered))::int as answered
     from got g left join did d on d.email = g.email group by 1`,
    [accountId, prefix, `${prefix}\u{10FFFF}`, batch],
  )
  return new Map(rows.map(({ variant: number, ...counts }) => [number, counts]))
}
