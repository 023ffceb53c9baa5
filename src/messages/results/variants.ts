import type { Work } from '../../store/work.ts'
import { otherScopes } from './results.count.ts'

/** Emails that were sent, and the people who opened, clicked or answered them. */
export interface VariantCounts {
  sent: number
  opened: number
  clicked: number
  answered: number
}

type Reader = Pick<Work, 'sql' | 'accountId'>

/**
 * Counts the emails of a batch that were sent, by variant. `prefix`: the prefix of the keys of its messages. `variant`: returns an SQL
 * expression of the variant's number for an address. Erased people are left out. Reads all messages of the batch.
 */
export const countSentByVariant = async (
  { sql, accountId }: Reader,
  prefix: string,
  variant: (email: string) => string,
): Promise<Map<number, number>> => {
  const rows = await sql<{ variant: number; sent: number }>(
    `select (${variant('email')})::int as variant, count(*)::int as sent from messages
     where account_id = $1 and key > $2 and key < $3 and email <> '' and status = 'sent' group by 1`,
    [accountId, prefix, `${prefix}\u{10FFFF}`],
  )
  return new Map(rows.map(({ variant: number, sent }) => [number, sent]))
}

/** Counts the people who did something with the emails of a batch, by variant, as `countSentByVariant`. */
export const countPeopleByVariant = async (
  { sql, accountId }: Reader,
  batch: string,
  variant: (email: string) => string,
): Promise<Map<number, Omit<VariantCounts, 'sent'>>> => {
  const rows = await sql<Omit<VariantCounts, 'sent'> & { variant: number }>(
    `with did as (
       select email, bool_or(opened) as opened, bool_or(clicked) as clicked, bool_or(answered) as answered from (
         select email, opened is not null as opened, clicked is not null as clicked, answered is not null as answered
         from message_people where account_id = $1 and scope = $2 and link = '' and ${otherScopes('scope')}
         union all
         select email, metric in ('opened', 'clicked', 'answered'), metric = 'clicked', metric = 'answered'
         from message_result_changes where account_id = $1 and cause = $2 and email <> ''
       ) d group by email
     )
     select (${variant('email')})::int as variant, (count(*) filter (where opened or clicked or answered))::int as opened,
       (count(*) filter (where clicked))::int as clicked, (count(*) filter (where answered))::int as answered
     from did group by 1`,
    [accountId, batch],
  )
  return new Map(rows.map(({ variant: number, ...counts }) => [number, counts]))
}
