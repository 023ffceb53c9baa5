export { countRecipients, dropBatch, failDropped, isBatchOut, releaseMails, type Tally, takeTally } from './batches.ts'
export { type BounceCounts, ingestBounces } from './bounces.ts'
export {
  addDomain,
  type DomainRecord,
  type DomainView,
  listDomains,
  showDomain,
  verifyDomain,
} from './domains.ts'
export { type MailboxView, setMailbox, showMailbox, testMailbox, unsetMailbox } from './mailboxes.ts'
export {
  findProjectMail,
  findProjectMails,
  listMessages,
  type MessageDetail,
  type MessageFilter,
  type MessageKey,
  type MessageView,
  type ProjectMail,
  showMessage,
} from './messages.find.ts'
export type { Batch, Source } from './messages.insert.ts'
export { demandMethod, type From, type FromChoice, findFrom } from './messages.method.ts'
export { type Queued, type QueuedMail, queueMails, queueMessage } from './messages.queue.ts'
export { demandQuota, resultOfKey, type SendOptions, sendMessage } from './messages.send.ts'
export { MessageType, Recipient, SendBody, SendResult } from './messages.shapes.ts'
export { type RelayView, setRelay, showRelay, testRelay, unsetRelay } from './relays.ts'
export { addSender, deleteSender, findSender, listSenders, makeDefaultSender, type SenderView } from './senders.ts'
export { importSuppressions, type SuppressionCounts } from './suppressions.import.ts'
export {
  listSuppressions,
  removeSuppressions,
  SuppressionReasonShape,
  type SuppressionView,
  suppressAddresses,
  suppressionReasons,
} from './suppressions.ts'
