export { listMessages, type MessageDetail, type MessageFilter, type MessageView, showMessage } from './messages.find.ts'
export type { Source } from './messages.insert.ts'
export { type Queued, type QueuedMail, queueMails, queueMessage } from './messages.queue.ts'
export { demandQuota, resultOfKey, type SendOptions, sendMessage } from './messages.send.ts'
export { MessageType, Recipient, SendBody, SendResult } from './messages.shapes.ts'
export {
  listSuppressions,
  removeSuppressions,
  type SuppressionView,
  suppressAddresses,
  suppressionReasons,
} from './suppressions.ts'
