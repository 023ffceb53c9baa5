import type { App, Work } from '../store/work.ts'
import type { SuppressionReason } from './suppression/suppressions.ts'

export { type From, type FromChoice, findFrom, requireMethod } from './api/method.ts'
export { requireQuota, resultOfKey, sendMessage } from './api/send.ts'
export { fillSubject, Recipient, SendBody, SendResult } from './api/shapes.ts'
export { type BounceCounts, ingestBounces } from './bounces/bounces.ts'
export { setMailbox, showMailbox, testMailbox, unsetMailbox } from './bounces/mailboxes.ts'
export {
  addDomain,
  type DomainRecord,
  type DomainView,
  listDomains,
  showDomain,
  verifyDomain,
} from './identity/domains.ts'
export { setRelay, showRelay, testRelay, unsetRelay } from './identity/relays.ts'
export {
  addSender,
  deleteSender,
  findSender,
  listSenders,
  makeDefaultSender,
  type SenderView,
} from './identity/senders.ts'
export {
  countMessagesSince,
  findProjectMail,
  findProjectMails,
  hasFailed,
  joinMessage,
  listMessages,
  type MessageDetail,
  type MessageKey,
  type MessageView,
  type ProjectMail,
  showMessage,
  sourceOfMessage,
  statusOf,
} from './messages.find.ts'
export {
  batchCounts,
  countRecipients,
  dropBatch,
  failDropped,
  hasBatchCounts,
  isBatchOut,
  releaseMails,
  takeBatchCounts,
} from './outbox/batches.ts'
export { type Queued, type QueuedMail, queueMails, queueMessage } from './outbox/queue.ts'
export { importSuppressions } from './suppression/import.ts'
export {
  isSuppressed,
  listSuppressions,
  removeSuppressions,
  type SuppressionReason,
  SuppressionReasonShape,
  type SuppressionView,
  suppressAddresses,
} from './suppression/suppressions.ts'

/** Emails that are rendered from a project: another feature implements it. */
export interface Projects {
  /** Returns the newest version of the account's project; null if there is no such project. */
  loadProject(work: Work, id: string): Promise<{ id: string; name: string; version: number } | null>
  /** Renders the email of a version for one recipient. `links.unsubscribe`: the visible link, in marketing email. */
  renderProject(
    app: App,
    mail: {
      accountId: string
      messageId: string
      id: string
      version: number
      mergeData: Record<string, string>
      links: { unsubscribe: string | null }
    },
  ): Promise<{ html: string; text: string }>
}

declare module '../store/work.ts' {
  interface Listener {
    /** Normalised addresses get no more email, or (`unsubscribed`) no marketing; called in the transaction that writes it. */
    addressesSuppressed?(work: Work, emails: readonly string[], reason: SuppressionReason): Promise<void>
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
