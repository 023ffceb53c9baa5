import { z } from 'zod'
import { addAddressSignal, removeAddressSignals } from '../../contacts/contacts.ts'
import { decodeCursor, encodeCursor, type Page } from '../../lib/cursor.ts'
import type { PageRequest } from '../../lib/page.ts'
import type { Work } from '../../store/work.ts'

export const suppressionReasons = ['complained', 'bounced', 'manual', 'unsubscribed'] as const
export type SuppressionReason = (typeof suppressionReasons)[number]
export const SuppressionReasonShape = z.enum(suppressionReasons)

export interface SuppressionView {
  email: string
  reason: SuppressionReason
  createdAt: number
}

/**
 * Suppresses normalised addresses for a reason. Returns those that were not suppressed for it before, and notifies the listeners
 * of them in the same transaction.
 */
export const suppressAddresses = async (
  work: Work,
  emails: readonly string[],
  reason: SuppressionReason,
): Promise<string[]> => {
  const { sql, accountId, now } = work
  const rows = await sql<{ email: string }>(
    `insert into suppressions (account_id, email, reason, created_at)
     select $1, email, $3, $4 from (select distinct unnest($2::text[]) as email) e order by email
     on conflict do nothing returning email`,
    [accountId, emails, reason, now],
    'suppress-addresses',
  )
  const added = rows.map(({ email }) => email)
  if (added.length > 0) for (const listener of work.listeners) await listener.addressesSuppressed?.(work, added, reason)
  return added
}

/** Returns whether a normalised address is suppressed for a reason. */
export const isSuppressed = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  email: string,
  reason: SuppressionReason,
): Promise<boolean> => {
  const rows = await sql(
    'select from suppressions where account_id = $1 and email = $2 and reason = $3',
    [accountId, email, reason],
    'is-suppressed',
  )
  return rows.length > 0
}

/** The verification signals of an address that follow from a bounce and from a complaint. */
const signals = { bounced: 'hard_bounced', complained: 'complained' } as const

/**
 * Suppresses a normalised address after a bounce or a complaint, and adds the reason to its verification result
 * (docs/reference/mail.md#bounces-and-complaints). It locks the address first, in the same order as every other writer.
 */
export const suppressAndFlag = async (work: Work, email: string, reason: keyof typeof signals): Promise<void> => {
  await addAddressSignal(work, email, signals[reason])
  await suppressAddresses(work, [email], reason)
}

/**
 * Removes suppressions of an address, all of them or the one with `reason`. Returns the removed reasons. It also removes the
 * verification signals of these reasons, which would stop its email too.
 */
export const removeSuppressions = async (
  work: Work,
  email: string,
  reason: SuppressionReason | null,
): Promise<SuppressionReason[]> => {
  const removed = Object.entries(signals).flatMap(([name, signal]) => ((reason ?? name) === name ? signal : []))
  await removeAddressSignals(work, email, removed)
  const rows = await work.sql<{ reason: SuppressionReason }>(
    `delete from suppressions where account_id = $1 and email = $2 and ($3::text is null or reason = $3)
     returning reason`,
    [work.accountId, email, reason],
  )
  return rows.map((row) => row.reason)
}

/** Returns a page of the account's suppressions, ordered by address. */
export const listSuppressions = async (
  { sql, accountId }: Work,
  { reason, email }: { reason: SuppressionReason | null; email: string | null },
  { limit, cursor }: PageRequest,
): Promise<Page<SuppressionView>> => {
  const after = cursor === undefined ? ['', ''] : decodeCursor(cursor, 2)
  const found = await sql<Omit<SuppressionView, 'createdAt'> & { createdAt: Date }>(
    `select email, reason, created_at as "createdAt" from suppressions
     where account_id = $1 and (email, reason) > ($2, $3)
       and ($4::text is null or reason = $4) and ($5::text is null or email = $5)
     order by email, reason limit $6`,
    [accountId, ...after, reason, email, limit + 1],
  )
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
  (select 'invalid' from addresses a
   where a.account_id = ${account} and a.email = ${email} and a.verification_status = 'invalid' limit 1),
  case when ${type} = 'marketing' then coalesce(
    (select s.reason from suppressions s
     where s.account_id = ${account} and s.email = ${email} and s.reason = 'unsubscribed' limit 1),
    (select 'pending' from contacts c where c.account_id = ${account} and c.row_id = (
       select a.row_id from addresses a where a.account_id = ${account} and a.email = ${email}
     ) having count(*) > 0 and count(*) filter (where c.status = 'active') = 0)
  ) end
)`
