/*
 * Everything that leaves by HTTP. targets/ is where it goes, queue/ the adapter of the queue engine: claim, endpoints
 * (capacity), post, record, effects.
 */

import type { CallEnd } from './deliveries.cancel.ts'

export { type CallEnd, cancelCalls } from './deliveries.cancel.ts'
export { deliveriesOfCallers, eraseCalls, eraseEvents, joinEventsAt } from './deliveries.erase.ts'
export { EventFilter, listEvents, newEvents, showEvent } from './deliveries.events.ts'
export { countDeliveriesSince, type DeliveryDetail, findLastError, showDelivery } from './deliveries.find.ts'
export { insertCalls, insertEvents, insertProbe } from './deliveries.insert.ts'
export { deliveriesChannel } from './deliveries.notices.ts'
export { removeProbe } from './deliveries.purge.ts'
export { deliveriesByDay } from './deliveries.stats.ts'
export { closeTargets, deleteTarget, endTargets, reviveTarget } from './targets/end.ts'
export { createTarget, publicUrl, redirectTarget, resealTarget } from './targets/targets.change.ts'
export {
  countPending,
  endOfOverlap,
  findProjectTarget,
  hasProjectTargets,
  joinTarget,
  listProjectTargets,
  type ProjectTarget,
  pendingOf,
  readTargetState,
  type TargetState,
} from './targets/targets.find.ts'

declare module '../store/work.ts' {
  interface Listener {
    /** Deliveries that a caller waits for have ended; called in the transaction that records it. */
    deliveriesEnded?(work: Work, ended: readonly CallEnd[]): Promise<void>
  }
  interface Settings {
    /** CIDR blocks that webhooks may reach although they are not public. */
    readonly allowPrivateWebhooks: readonly string[]
  }
}
