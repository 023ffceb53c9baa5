export { importSuppressions } from './import.ts'
export {
  explainUnsent,
  isSuppressed,
  listSuppressions,
  type SuppressionView,
  suppressedReason,
} from './read.ts'
export {
  type Left,
  leaveMail,
  removeSuppressions,
  type SuppressionReason,
  SuppressionReasonShape,
  suppressAddresses,
  suppressAndFlag,
  suppressionReasons,
} from './suppress.ts'
