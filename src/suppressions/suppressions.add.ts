import { z } from 'zod'
import { addAddressSignal, lockLeaving, removeAddressSignals } from '../contacts/contacts.ts'
import { typed } from '../store/column-types.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'
import { countDepartures } from './departures.ts'

export const suppressionReasons = ['complained', 'bounced', 'manual', 'unsubscribed'] as const
export type SuppressionReason = (typeof suppressionReasons)[number]
export const SuppressionReasonShape = z.enum(suppressionReasons)

const insertReasons = preparedStatement(
  'suppress-addresses',
  {
    row: { email: 'text' },
    parameters: {
      accountId: 'text',
      emails: '_text',
      reason: 'text',
      now: 'timestamptz',
      since: typed<readonly (Date | null)[]>('_timestamptz'),
    },
  },
  `insert into suppressions (account_id, email, reason, created_at)
   select :accountId, email, :reason, coalesce(min(at), :now) from unnest(:emails::text[], :since::timestamptz[]) as e(email, at)
   group by email order by email
   on conflict do nothing returning email`,
)

/**
 * Suppresses normalised addresses for a reason. Returns those that were not suppressed for it before, and notifies the listeners
 * of them in the same transaction. `since` has the time of each suppression; if it is null or absent, that is the current time.
 */
export const suppressAddresses = async (
  work: Work,
  emails: readonly string[],
  reason: SuppressionReason,
  since: readonly (Date | null)[] = [],
): Promise<string[]> => {
  const { sql, accountId, now } = work
  const contacts = await lockLeaving(work, emails)
  const rows = await sql(insertReasons, { accountId, emails, reason, now, since })
  const added = rows.map(({ email }) => email)
  if (added.length === 0) return added
  await countDepartures(
    work,
    added.filter((email) => contacts.has(email)),
    reason,
  )
  for (const listener of await work.listeners()) await listener.addressesSuppressed?.(work, added, reason)
  return added
}

const insertLeft = statement(
  'leave-topics',
  {
    row: { email: 'text' },
    parameters: { accountId: 'text', emails: '_text', topicIds: '_text', now: 'timestamptz' },
  },
  `insert into suppressions (account_id, email, reason, topic_id, created_at)
   select :accountId, e.email, 'unsubscribed', t.id, :now
   from unnest(:emails::text[]) as e(email)
     join topics t on t.account_id = :accountId and t.id = any(:topicIds::text[]) and t.deleted_at is null
   order by 2, 4 on conflict do nothing returning email`,
)

/**
 * Normalised addresses leave topics: they get no marketing email of these, and all other email. Unknown topics are ignored. Returns an
 * address for each topic that it had not left before.
 */
export const leaveTopics = async (
  { sql, accountId, now }: Work,
  emails: readonly string[],
  topicIds: readonly string[],
): Promise<string[]> => {
  const rows = await sql(insertLeft, { accountId, emails: [...new Set(emails)], topicIds, now })
  return rows.map(({ email }) => email)
}

/** What a recipient left by the link of a message. */
export interface Left {
  /** Normalised. */
  email: string
  messageId: string
  /** The topics that it left. It is null for everything. */
  topicIds: readonly string[] | null
}

/**
 * A recipient leaves topics, or all marketing, by the link of a message. `messageId` is null if the link names none. Returns
 * whether anything changed. If so, the listeners are notified once, in the same transaction, with the message.
 */
export const leaveMail = async (
  work: Work,
  { email, messageId, topicIds }: Omit<Left, 'messageId'> & { messageId: string | null },
): Promise<boolean> => {
  const added = topicIds
    ? await leaveTopics(work, [email], topicIds)
    : await suppressAddresses(work, [email], 'unsubscribed')
  if (added.length === 0) return false
  if (messageId !== null)
    for (const listener of await work.listeners()) await listener.mailLeft?.(work, { email, messageId, topicIds })
  return true
}

const deleteLeft = statement(
  'return-to-topics',
  { parameters: { accountId: 'text', email: 'text', topicIds: '_text' } },
  `delete from suppressions where account_id = :accountId and email = :email and reason = 'unsubscribed' and topic_id = any(:topicIds::text[])`,
)

/** The opposite of `leaveMail`. `topicIds` null: the address gets marketing again, except of topics that it has left. */
export const returnToMail = async (
  { sql, accountId }: Work,
  email: string,
  topicIds: readonly string[] | null,
): Promise<void> => {
  await sql(deleteLeft, { accountId, email, topicIds: topicIds ?? [''] })
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

const deleteReasons = statement(
  'delete-suppressions',
  {
    row: { reason: typed<SuppressionReason>('text') },
    parameters: { accountId: 'text', email: 'text', named: 'text?', topicId: 'text?' },
  },
  `delete from suppressions
   where account_id = :accountId and email = :email and (:named::text is null or reason = :named) and (:topicId::text is null or topic_id = :topicId)
   returning reason`,
)

/**
 * Removes suppressions of an address, all of them or those with `reason` or `topicId`. Returns the removed reasons: `unsubscribed` for each
 * topic too. It also removes the verification signals of these reasons, which would stop its email too.
 */
export const removeSuppressions = async (
  work: Work,
  email: string,
  reason: SuppressionReason | null,
  topicId: string | null = null,
): Promise<SuppressionReason[]> => {
  const named = topicId === null ? reason : 'unsubscribed'
  const removed = Object.entries(signals).flatMap(([name, signal]) => ((named ?? name) === name ? signal : []))
  await removeAddressSignals(work, email, removed)
  const rows = await work.sql(deleteReasons, { accountId: work.accountId, email, named, topicId })
  return rows.map((row) => row.reason)
}
