export { countRemovals } from './departures.ts'
export { importSuppressions } from './import.ts'
export { suppressing } from './imported.ts'
export {
  readSubscriptions,
  removeSuppressionOf,
  type Subscriptions,
  saveSubscriptions,
  suppressOne,
} from './subscriptions.ts'
export {
  type Left,
  leaveMail,
  leaveTopics,
  lockRecipient,
  removeSuppressions,
  returnToMail,
  type SuppressionReason,
  SuppressionReasonShape,
  suppressAddresses,
  suppressAndFlag,
  suppressionReasons,
} from './suppression.add.ts'
export {
  explainUnsent,
  hasTopic,
  isSuppressed,
  joinTopic,
  listSuppressions,
  type SuppressionView,
  suppressedReason,
} from './suppression.read.ts'
