export { insertAttachments } from './attachments.ts'
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
} from './batches.ts'
export { type ClaimedMessage, type Content, freeClaims, mailChannel } from './claim.ts'
export { type Batch, type Inserted, insertMessages, type NewMessage } from './insert.ts'
export { type Queued, type QueuedMail, queueMails, queueManyMails, queueMessage, sendQuotaUsedUp } from './queue.ts'
export { runMail } from './run.ts'
export { senderOf } from './sender.ts'
export {
  cancelScheduled,
  countMailsOf,
  type Withdrawn,
  withdrawMails,
  withdrawMailsOf,
  withdrawMailsOfSources,
} from './withdraw.ts'
