export { insertAttachments } from './attachments.ts'
export { type Batch, type Inserted, insertMessages, type NewMessage } from './insert.ts'
export {
  countRecipients,
  dropBatch,
  failDropped,
  isBatchOut,
  pauseBatch,
  type RecipientCounts,
  releaseMails,
  resumeBatch,
  takeBatchCounts,
} from './outbox.batches.ts'
export { type ClaimedMessage, type Content, freeClaims, mailChannel } from './outbox.claim.ts'
export {
  type Queued,
  type QueuedMail,
  queueMails,
  queueManyMails,
  queueMessage,
  sendQuotaUsedUp,
} from './outbox.queue.ts'
export { runMail } from './outbox.run.ts'
export { senderOf } from './sender.ts'
export {
  cancelScheduled,
  countMailsOf,
  type Withdrawn,
  withdrawMails,
  withdrawMailsOf,
  withdrawMailsOfSources,
} from './withdraw.ts'
