import { z } from 'zod'
import { addAddressSignal, removeAddressSignals } from '../../contacts/contacts.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import type { Work } from '../../store/work.ts'

export const suppressionReasons = ['complained', 'bounced', 'manual', 'unsubscribed'] as const
export type SuppressionReason = (typeof suppressionReasons)[number]
export const SuppressionReasonShape = z.enum(suppressionReasons)

const insertReasons = preparedStatement<{ email: string }>(
  'suppress-addresses',
  { email: 'text' },
  `insert into suppressions (account_id, email, reason, created_at)
   select $1, email, $3, $4 from (select distinct unnest($2::text[]) as email) e order by email
   on conflict do nothing returning email`,
)

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
  const rows = await sql(insertReasons, [accountId, emails, reason, now])
  const added = rows.map(({ email }) => email)
  if (added.length > 0)
    for (const listener of await work.listeners()) await listener.addressesSuppressed?.(work, added, reason)
  return added
}

/** What a recipient left by the link of a message. */
export interface Left {
  /** Normalised. */
  email: string
  messageId: string
}

/**
 * A recipient leaves marketing by the link of a message (null: of a link that names none). Returns whether that was news. Then the
 * listeners are notified in the same transaction, of the message too.
 */
export const leaveMail = async (
  work: Work,
  { email, messageId }: Omit<Left, 'messageId'> & { messageId: string | null },
): Promise<boolean> => {
  const added = await suppressAddresses(work, [email], 'unsubscribed')
  if (added.length === 0) return false
  if (messageId !== null)
    for (const listener of await work.listeners()) await listener.mailLeft?.(work, { email, messageId })
  return true
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

const deleteReasons = statement<{ reason: SuppressionReason }>(
  'delete-suppressions',
  { reason: 'text' },
  `delete from suppressions where account_id = $1 and email = $2 and ($3::text is null or reason = $3)
   returning reason`,
)

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
  const rows = await work.sql(deleteReasons, [work.accountId, email, reason])
  return rows.map((row) => row.reason)
}
