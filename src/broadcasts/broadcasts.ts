/*
 * One email to the contacts of lists and segments (broadcasts.audience.ts), decided once (broadcasts.recipients.ts).
 * What it sends is fixed (broadcasts.letter.ts). It is sent in steps, by a job or by the command; its messages are a
 * batch.
 */

export {
  cancelBroadcast,
  copyBroadcast,
  deleteBroadcast,
  pauseBroadcast,
  resumeBroadcast,
  updateBroadcast,
} from './broadcasts.change.ts'
export { BroadcastChanges, createBroadcast, NewBroadcast, requireFuture } from './broadcasts.create.ts'
export {
  findBatches,
  findBroadcastById,
  isMailJobRunning,
  listBroadcasts,
  showBroadcast,
} from './broadcasts.find.ts'
export { queueBroadcast } from './broadcasts.queue.ts'
export { resultsOfBroadcast } from './broadcasts.results.ts'
export { type Plan, planBroadcast, sendBroadcast } from './broadcasts.send.ts'
export type { BroadcastView } from './broadcasts.shapes.ts'
export { testBroadcast } from './broadcasts.trial.ts'
export { openContestOf, showBroadcastInDetail } from './broadcasts.variants.ts'
