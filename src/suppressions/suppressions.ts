/*
 * Who gets no email, or no marketing: suppressed addresses, and the topics that people left. A person's choices are in
 * preferences.ts (on the page of an email's link) and subscriptions.ts (by the API). suppressions.rows.ts has the reason
 * for statements of other features.
 */

import type { Left, SuppressionReason } from './suppressions.add.ts'

export { countRemovals } from './departures.ts'
export {
  changeEverything,
  leaveByOneClick,
  type Preferences,
  readPreferences,
  saveChoices,
  type TopicChoice,
} from './preferences.ts'
export {
  leaveTopics,
  returnToMail,
  type SuppressionReason,
  SuppressionReasonShape,
  suppressAddresses,
  suppressAndFlag,
} from './suppressions.add.ts'
export { suppressing } from './suppressions.imported.ts'
export { explainUnsent, isSuppressed, listSuppressions } from './suppressions.read.ts'
export { findTopic, hasTopicId, keepTopic, listTopics } from './topics.find.ts'

declare module '../store/work.ts' {
  interface Listener {
    /** Normalised addresses get no more email, or (`unsubscribed`) no marketing; called in the transaction that writes it. */
    addressesSuppressed?(work: Work, emails: readonly string[], reason: SuppressionReason): Promise<void>
    /** A recipient left topics or all marketing by the link of a message, and had not left them before; called in the transaction that writes it. */
    mailLeft?(work: Work, left: Left): Promise<void>
    /** Returns how many unsent broadcasts use a topic. */
    topicUses?(work: Work, topicId: string): Promise<{ broadcasts: number }>
  }
}
