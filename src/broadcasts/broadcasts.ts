export { cancelBroadcast } from './broadcasts.cancel.ts'
export { createBroadcast, NewBroadcast, type Plan, planBroadcast } from './broadcasts.create.ts'
export { type BroadcastView, isMailCarried, listBroadcasts, showBroadcast } from './broadcasts.find.ts'
export { queueBroadcast } from './broadcasts.queue.ts'
