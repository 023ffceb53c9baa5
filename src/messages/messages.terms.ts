import type { Asked, Term } from '../segments/segments.ts'

/** Returns the SQL condition that the message, whose account and id are SQL, has a key that begins with one of `keys`. */
export const isOfKeys = (of: { account: string; id: string }, keys: string): string =>
  `exists (select from messages k where k.account_id = ${of.account} and k.id = ${of.id}
    and exists (select from unnest(${keys}::text[]) as b(beginning) where starts_with(k.key, b.beginning)))`

const inScope = ({ scope, bind }: Asked): string => {
  if (!scope) return 'true'
  const isOfProject = `m.project_id = any(${bind(scope.projectIds)}::text[])`
  if (!scope.keys) return isOfProject
  return `${isOfProject} and exists (
    select from unnest(${bind(scope.keys)}::text[]) as b(beginning) where starts_with(m.key, b.beginning))`
}

/** When emails were sent to an address, and when they were reported as not delivered. */
export const terms: readonly Term[] = [
  {
    name: 'sent',
    kind: 'time',
    isScoped: true,
    rows: (asked) => ({
      from: 'messages m',
      where: `m.account_id = ${asked.account} and m.status = 'sent' and m.finished_at is not null and ${inScope(asked)}`,
      email: 'm.email',
      value: 'm.finished_at',
    }),
  },
  {
    name: 'bounced',
    kind: 'time',
    isScoped: true,
    rows: (asked) => ({
      from: 'messages m join message_reports r on r.account_id = m.account_id and r.message_id = m.id',
      where: `m.account_id = ${asked.account} and r.kind in ('hard', 'soft') and ${inScope(asked)}`,
      email: 'm.email',
      value: 'r.created_at',
    }),
  },
]
