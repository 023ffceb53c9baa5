/*
 * api/ is POST /send, outbox/ the queue of messages (sender.ts sends for POST /send in its own process), identity/
 * relays, senders and domains, suppression/ who gets no email, bounces/ reports and the mailboxes where they arrive,
 * results/ numbers by day.
 */

import type { App, Work } from '../store/work.ts'
import type { MachineActions } from './results/results.ts'
import type { Left, SuppressionReason } from './suppression/suppression.ts'

export { callQuotas, requireQuota, resultOfKey, SendBody, SendResult, sendMessage } from './api/api.ts'
export {
  type BounceCounts,
  ingestBounces,
  setMailbox,
  showMailbox,
  testMailbox,
  unsetMailbox,
} from './bounces/bounces.ts'
export {
  addDomain,
  addSender,
  type DomainRecord,
  type DomainView,
  deleteDomain,
  deleteSender,
  type From,
  type FromChoice,
  findFrom,
  findSender,
  listDomains,
  listSenders,
  makeDefaultSender,
  requireMethod,
  requireSender,
  type SenderView,
  senderChoice,
  setRelay,
  showDomain,
  showRelay,
  testRelay,
  unsetRelay,
  verifyDomain,
} from './identity/identity.ts'
export {
  countMessagesSince,
  findProjectMail,
  findProjectMails,
  findSend,
  hasFailed,
  joinMessage,
  listMessages,
  listSends,
  type MessageDetail,
  type MessageKey,
  type MessageView,
  type ProjectMail,
  type SendView,
  showMessage,
  sourceOfMessage,
  statusOf,
} from './messages.find.ts'
export { fillSubject, Recipient } from './messages.shapes.ts'
export { isOfKeys } from './messages.terms.ts'
export { subjectOf } from './messages.timeline.ts'
export {
  cancelScheduled,
  countMailsOf,
  countRecipients,
  dropBatch,
  failDropped,
  isBatchOut,
  pauseBatch,
  type Queued,
  type QueuedMail,
  queueMails,
  queueManyMails,
  queueMessage,
  type RecipientCounts,
  releaseMails,
  resumeBatch,
  takeBatchCounts,
  withdrawMails,
  withdrawMailsOf,
  withdrawMailsOfSources,
} from './outbox/outbox.ts'
export {
  type BesideResults,
  batchKeyPrefix,
  besideResults,
  cancelledError,
  causeOf,
  countActions,
  countPeopleByVariant,
  countSentByVariant,
  foldResults,
  type MachineActions,
  type MailStats,
  machineActions,
  mailStats,
  recipientAction,
  recountPerson,
  resultsOf,
  tallyingMachines,
  type VariantCounts,
} from './results/results.ts'
export {
  importSuppressions,
  isSuppressed,
  type Left,
  leaveMail,
  leaveTopics,
  listSuppressions,
  readSubscriptions,
  removeSuppressionOf,
  removeSuppressions,
  returnToMail,
  type SuppressionReason,
  SuppressionReasonShape,
  type SuppressionView,
  saveSubscriptions,
  suppressAddresses,
  suppressing,
  suppressOne,
} from './suppression/suppression.ts'
export {
  createTopic,
  deleteTopic,
  findTopic,
  hasTopicId,
  keepTopic,
  listTopics,
  NewTopic,
  TopicChange,
  type TopicView,
  topicsMax,
  updateTopic,
} from './topics/topics.ts'

/** Emails that are rendered from a project: another feature implements it. */
export interface Projects {
  /** Returns the newest version of the account's project; null if there is no such project. */
  loadProject(work: Work, id: string): Promise<{ id: string; name: string; version: number } | null>
  /**
   * Renders the email of a version for one recipient. `links.unsubscribe`: the visible link of marketing email, which
   * ends with `postalAddress`.
   */
  renderProject(
    app: App,
    mail: {
      accountId: string
      messageId: string
      id: string
      version: number
      mergeData: Record<string, string>
      links: { unsubscribe: string | null; postalAddress?: string | null }
      /** The time to which conditions of blocks refer, in epoch ms. */
      nowMs: number
    },
  ): Promise<{ html: string; text: string }>
}

declare module '../store/work.ts' {
  interface Listener {
    /** Normalised addresses get no more email, or (`unsubscribed`) no marketing; called in the transaction that writes it. */
    addressesSuppressed?(work: Work, emails: readonly string[], reason: SuppressionReason): Promise<void>
    /** A recipient left topics or all marketing by the link of a message, and had not left them before; called in the transaction that writes it. */
    mailLeft?(work: Work, left: Left): Promise<void>
    /** Returns what machines did with an email, which is counted apart from what its recipient did. */
    machineActionsOn?(work: Work, messageId: string): Promise<MachineActions>
    /** Returns how many unsent broadcasts use a topic. */
    topicUses?(work: Work, topicId: string): Promise<{ broadcasts: number }>
  }
  interface Settings {
    /** The platform's relay. */
    readonly smtpUrl: string | null
  }
  interface App {
    /** null if no feature renders projects. */
    readonly projects: Projects | null
  }
}
