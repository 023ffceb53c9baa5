/*
 * Email. api/ is POST /send, outbox/ the queue of messages (sender.ts sends for POST /send in its own process). Reports say
 * later what became of a sent message (messages.reports.ts). The features senders, suppressions and results know how email
 * is sent, who gets none, and what is counted.
 */

import type { MachineActions } from '../results/results.ts'
import type { App, Work } from '../store/work.ts'

export { SendBody, SendResult } from './api/send.shapes.ts'
export { sendMessage, trySend } from './api/send.ts'
export { batchKeyPrefix, cancelledError, causeOf } from './messages.ended.ts'
export {
  countMessagesSince,
  findProjectMail,
  findProjectMails,
  findSend,
  hasFailed,
  joinMessage,
  listMessages,
  listSends,
  type MessageKey,
  type ProjectMail,
  type SendView,
  showMessage,
  showMessageInDetail,
  sourceOfMessage,
  statusOf,
} from './messages.find.ts'
export { type Report, type ReportOutcome, recordReport } from './messages.reports.ts'
export { fillSubject, Recipient } from './messages.shapes.ts'
export { isOfKeys } from './messages.terms.ts'
export { subjectOf } from './messages.timeline.ts'
export {
  countRecipients,
  countSentByVariant,
  dropBatch,
  failDropped,
  isBatchOut,
  pauseBatch,
  type RecipientCounts,
  releaseMails,
  resumeBatch,
  takeBatchCounts,
} from './outbox/outbox.batches.ts'
export { type Queued, type QueuedMail, queueMails, queueManyMails, queueMessage } from './outbox/outbox.queue.ts'
export {
  cancelSend,
  countMailsOf,
  withdrawMails,
  withdrawMailsOf,
  withdrawMailsOfSources,
} from './outbox/withdraw.ts'

/** Emails that are rendered from a project: another feature implements it. */
export interface Projects {
  /** Returns the newest version of the account's project, or null if there is no such project. */
  loadProject(work: Work, id: string): Promise<{ id: string; name: string; version: number } | null>
  /**
   * Renders the email of a version for one recipient. `links.unsubscribe` is the visible link of marketing email, which ends with
   * `postalAddress`.
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
    /** Returns what machines did with an email, which is counted apart from what its recipient did. */
    machineActionsOn?(work: Work, messageId: string): Promise<MachineActions>
    /** Returns the messages with what their recipients did. */
    withReactions?<Row extends { id: string }>(
      work: Work,
      messages: readonly Row[],
    ): Promise<(Row & { opened: boolean; clicked: boolean })[]>
  }
  interface App {
    /** It is null if no feature renders projects. */
    readonly projects: Projects | null
  }
}
