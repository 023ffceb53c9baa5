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
  SuppressionReasonShape,
  type SuppressionView,
  suppressAddresses,
} from './suppression/suppressions.ts'
