import { invalidReason, pendingReason, verificationReasons } from '../../contacts/contacts.ts'
import { decodeCursor, encodeCursor, type Page } from '../../lib/cursor.ts'
import type { PageRequest } from '../../lib/page.ts'
import { shellWord } from '../../lib/shell.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import type { Work } from '../../store/work.ts'
import type { SuppressionReason } from './suppress.ts'

export interface SuppressionView {
  email: string
  reason: SuppressionReason
  createdAt: number
}

const findReason = preparedStatement(
  'is-suppressed',
  {},
  'select from suppressions where account_id = $1 and email = $2 and reason = $3',
)

/** Returns whether a normalised address is suppressed for a reason. */
export const isSuppressed = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  email: string,
  reason: SuppressionReason,
): Promise<boolean> => (await sql(findReason, [accountId, email, reason])).length > 0

const readPage = statement<Omit<SuppressionView, 'createdAt'> & { createdAt: Date }>(
  'list-suppressions',
  { email: 'text', reason: 'text', createdAt: 'timestamptz' },
  `select email, reason, created_at as "createdAt" from suppressions
   where account_id = $1 and (email, reason) > ($2, $3)
     and ($4::text is null or reason = $4) and ($5::text is null or email = $5)
   order by email, reason limit $6`,
)

/** Returns a page of the account's suppressions, ordered by address. */
export const listSuppressions = async (
  { sql, accountId }: Work,
  { reason, email }: { reason: SuppressionReason | null; email: string | null },
  { limit, cursor }: PageRequest,
): Promise<Page<SuppressionView>> => {
  const after = cursor === undefined ? ['', ''] : decodeCursor(cursor, 2)
  const found = await sql(readPage, [accountId, ...after, reason, email, limit + 1])
  const rows = found.slice(0, limit).map((row) => ({ ...row, createdAt: row.createdAt.getTime() }))
  const last = rows.at(-1)
  return { rows, nextCursor: found.length > limit && last ? encodeCursor([last.email, last.reason]) : null }
}

/**
 * Returns an SQL expression: the reason why an address gets no email of a type, null if it does
 * (docs/reference/mail.md#suppression). If there are several reasons, it is the most severe one. The reason `pending` needs a contact:
 * an address in no list is not pending.
 */
export const suppressedReason = (account: string, email: string, type: string): string => `coalesce(
  (select s.reason from suppressions s where s.account_id = ${account} and s.email = ${email} and s.reason <> 'unsubscribed'
   order by array_position(array['complained', 'bounced', 'manual'], s.reason) limit 1),
  ${invalidReason(account, email)},
  case when ${type} = 'marketing' then coalesce(
    (select s.reason from suppressions s
     where s.account_id = ${account} and s.email = ${email} and s.reason = 'unsubscribed' limit 1),
    ${pendingReason(account, email)}
  ) end
)`

interface Unsent {
  why: string
  next: string
}

/** Returns a sentence why an email to an address was suppressed, and the command that shows or removes the reason. */
export const explainUnsent = async (work: Work, email: string, reason: string): Promise<Unsent> => {
  if (reason === 'pending')
    return {
      why: 'the contact is not active in any list, and only active contacts get marketing',
      next: `svc contacts show ${shellWord(email)}`,
    }
  if (reason !== 'invalid')
    return { why: `the address is suppressed (${reason})`, next: `svc suppressions remove ${shellWord(email)}` }
  const reasons = await verificationReasons(work, email)
  return {
    why: `the address failed verification (${reasons.join(', ')})`,
    next: `svc contacts verify ${shellWord(email)}`,
  }
}
