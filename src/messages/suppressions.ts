import { z } from 'zod'
import { addFinding, dropFindings } from '../contacts/contacts.ts'
import { decodeCursor, encodeCursor, type Page } from '../lib/cursor.ts'
import type { PageRequest } from '../lib/page.ts'
import type { SuppressionReason, Work } from '../store/work.ts'

export const suppressionReasons = ['complained', 'bounced', 'manual', 'unsubscribed'] as const
export const SuppressionReasonShape = z.enum(suppressionReasons)

export interface SuppressionView {
  email: string
  reason: SuppressionReason
  createdAt: number
}

/**
 * Suppresses normalised addresses for a reason, and gives those for which that is new. Who waits for it hears of those, in
 * the same transaction.
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

/** What a bounce and a complaint show of an address: its verdict says it from then on. */
const findings = { bounced: 'hard_bounced', complained: 'complained' } as const

/**
 * What follows from a bounce or a complaint for a normalised address: it gets no mail any more, and its verdict says why
 * (decisions.md, Bounces and complaints). The address comes first, as for whoever else changes it.
 */
export const condemnAddress = async (work: Work, email: string, reason: keyof typeof findings): Promise<void> => {
  await addFinding(work, email, findings[reason])
  await suppressAddresses(work, [email], reason)
}

/**
 * Takes suppressions of an address away, all of them or that of one reason, and gives their reasons. What its verdict says for
 * the same reason goes as well: else that would stop its mail.
 */
export const removeSuppressions = async (
  work: Work,
  email: string,
  reason: SuppressionReason | null,
): Promise<SuppressionReason[]> => {
  const gone = Object.entries(findings).flatMap(([name, finding]) => ((reason ?? name) === name ? finding : []))
  await dropFindings(work, email, gone)
  const rows = await work.sql<{ reason: SuppressionReason }>(
    `delete from suppressions where account_id = $1 and email = $2 and ($3::text is null or reason = $3)
     returning reason`,
    [work.accountId, email, reason],
  )
  return rows.map((row) => row.reason)
}

/** The account's suppressions in the order of their addresses. */
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
