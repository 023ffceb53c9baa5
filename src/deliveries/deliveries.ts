export {
  cancelCalls,
  closeTargets,
  countPending,
  deleteTarget,
  endTargets,
  reviveTarget,
  tellChanged,
} from './deliveries.end.ts'
export { type DeliveryDetail, showDelivery } from './deliveries.find.ts'
export { type Call, deliveriesChannel, insertCalls, insertEvents, type Wanting } from './deliveries.insert.ts'
export { publicUrl } from './deliveries.url.ts'
