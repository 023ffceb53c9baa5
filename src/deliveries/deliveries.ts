export {
  cancelCalls,
  closeTargets,
  countPending,
  deleteTarget,
  endTargets,
  notifyTargetChanged,
  redirectTarget,
  reviveTarget,
} from './deliveries.end.ts'
export { deliveriesOfCallers, eraseCalls, eraseEvents } from './deliveries.erase.ts'
export { countDeliveriesSince, type DeliveryDetail, showDelivery } from './deliveries.find.ts'
export { type Call, deliveriesChannel, insertCalls, insertEvents, type Wanting } from './deliveries.insert.ts'
export { publicUrl } from './deliveries.url.ts'
