import { lockRecipient } from '../contacts/contacts.ts'
import { conflict, notFound } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'
import { changeEverything, readPreferences, saveChoices } from './preferences.ts'
import { leaveTopics, removeSuppressions, suppressAddresses } from './suppressions.add.ts'
import { isSuppressed, listSuppressions, type SuppressionView } from './suppressions.read.ts'
import { hasTopicId } from './topics.find.ts'

/** Which marketing an address gets (docs/reference/api.md#suppressions-topics-and-preferences). */
interface Subscriptions {
  /** Topic id to whether the address gets its emails. */
  topics: Record<string, boolean>
  /** It is false if the address gets no marketing, because it has unsubscribed from all or is suppressed for another reason. */
  everything: boolean
}

/** Returns which marketing a normalised address gets. */
export const readSubscriptions = async (work: Work, email: string): Promise<Subscriptions> => {
  const { topics } = await readPreferences(work, { email, topicId: null })
  const { rows } = await listSuppressions(work, { email, reason: null, topicId: '' }, { limit: 1 })
  return { topics: Object.fromEntries(topics.map(({ id, hasLeft }) => [id, !hasLeft])), everything: rows.length === 0 }
}

/** Saves what `change` names; the rest stays, also other suppressions. Unknown topics are ignored. Returns the result. */
export const saveSubscriptions = async (
  work: Work,
  email: string,
  {
    topics = {},
    everything,
  }: { topics?: Readonly<Record<string, boolean>> | undefined; everything?: boolean | undefined },
): Promise<Subscriptions> => {
  const recipient = { email, messageId: null }
  if (everything !== undefined) await changeEverything(work, recipient, everything ? 'return' : 'leave')
  const shown = Object.keys(topics)
  const chosen = new Set(shown.filter((id) => topics[id]))
  if (shown.length > 0) await saveChoices(work, recipient, { shown, chosen })
  return readSubscriptions(work, email)
}

const requireTopic = async (work: Work, topicId: string | undefined): Promise<void> => {
  if (topicId !== undefined && !(await hasTopicId(work, topicId))) throw notFound('There is no such topic')
}

/** Suppresses a normalised address, or makes it leave one topic. Returns the suppression. Throws Problem `not_found` for the topic. */
export const suppressOne = async (
  work: Work,
  email: string,
  reason: 'unsubscribed' | 'manual',
  topicId: string | undefined,
): Promise<SuppressionView> => {
  await requireTopic(work, topicId)
  await lockRecipient(work, email)
  if (topicId === undefined) await suppressAddresses(work, [email], reason)
  else await leaveTopics(work, [email], [topicId])
  const { rows } = await listSuppressions(work, { email, reason, topicId: topicId ?? '' }, { limit: 1 })
  if (rows.length === 0) throw notFound('There is no such topic')
  return rows[0]!
}

/**
 * Removes the suppression of a normalised address, or makes it return to one topic. Without `topicId`, topics that it
 * has left are not affected. Returns whether anything was removed. Throws Problem `not_found` for the topic, `conflict`
 * after a complaint, which stays.
 */
export const removeSuppressionOf = async (work: Work, email: string, topicId: string | undefined): Promise<boolean> => {
  await requireTopic(work, topicId)
  await lockRecipient(work, email)
  if (topicId !== undefined) return (await removeSuppressions(work, email, 'unsubscribed', topicId)).length > 0
  if (await isSuppressed(work, email, 'complained'))
    throw conflict('This address has complained about an email; complaints stay')
  const removed = [
    await removeSuppressions(work, email, 'bounced'),
    await removeSuppressions(work, email, 'manual'),
    await removeSuppressions(work, email, 'unsubscribed', ''),
  ]
  return removed.flat().length > 0
}
