import { lockRecipient } from '../contacts/contacts.ts'
import { byName } from '../lib/names.ts'
import type { RowOf } from '../store/column-types.ts'
import { statement } from '../store/statement.ts'
import type { AccountSql, Work } from '../store/work.ts'
import { leaveMail, returnToMail } from './suppressions.add.ts'
import { isSuppressed } from './suppressions.read.ts'
import { hasTopicId } from './topics.find.ts'

const choice = { id: 'text', name: 'text', description: 'text', hasLeft: 'bool', isOfMessage: 'bool' } as const

/** A topic as the recipient of a message sees it. `isOfMessage` says that the message is about it. */
export type TopicChoice = RowOf<typeof choice>

/** What a person chose on the preference page of an account with topics. */
export interface Preferences {
  /** The topics in the order of their names. */
  topics: TopicChoice[]
  hasLeftEverything: boolean
}

/** Who opened the link of a message. `messageId` is null for a link that names no message. */
interface Recipient {
  /** Normalised. */
  email: string
  messageId: string | null
}

/** The topic of that message. It is null if the message has none. */
interface Subject {
  topicId: string | null
}

const readChoices = statement(
  'read-topic-choices',
  { row: choice, parameters: { accountId: 'text', email: 'text', topicId: 'text?' } },
  `select t.id, t.name, t.description, exists (
       select from suppressions
       where account_id = :accountId and email = :email and reason = 'unsubscribed' and topic_id = t.id
     ) as "hasLeft", t.id is not distinct from :topicId as "isOfMessage"
   from topics t where t.account_id = :accountId and t.deleted_at is null order by t.id`,
)

export const readPreferences = async (
  work: AccountSql,
  { email, topicId }: Pick<Recipient, 'email'> & Subject,
): Promise<Preferences> => {
  const topics = (await work.sql(readChoices, { accountId: work.accountId, email, topicId })).sort(byName('name'))
  return { topics, hasLeftEverything: await isSuppressed(work, email, 'unsubscribed') }
}

/** Leaves what the message was about: its topic, or everything if it has none or the topic was deleted. */
export const leaveByOneClick = async (
  work: Work,
  { email, messageId, topicId }: Recipient & Subject,
): Promise<void> => {
  const isLeavable = topicId !== null && (await hasTopicId(work, topicId))
  await leaveMail(work, { email, messageId, topicIds: isLeavable ? [topicId] : null })
}

/** Leaves everything, or returns from there. What was suppressed for another reason stays suppressed. */
export const changeEverything = async (
  work: Work,
  { email, messageId }: Recipient,
  change: 'leave' | 'return',
): Promise<void> => {
  await lockRecipient(work, email)
  if (change === 'leave') await leaveMail(work, { email, messageId, topicIds: null })
  else await returnToMail(work, email, null)
}

/**
 * Saves the boxes of the page: the recipient gets the topics `chosen`, and leaves the others of `shown`. Topics that the page did not
 * show, such as those created after it was opened, stay as they are.
 */
export const saveChoices = async (
  work: Work,
  { email, messageId }: Recipient,
  { shown, chosen }: { shown: readonly string[]; chosen: ReadonlySet<string> },
): Promise<void> => {
  await lockRecipient(work, email)
  await returnToMail(
    work,
    email,
    shown.filter((id) => chosen.has(id)),
  )
  const topicIds = shown.filter((id) => !chosen.has(id))
  await leaveMail(work, { email, messageId, topicIds })
}
