export { closeTargets, deleteTarget, endTargets, lockTargets, reviveTarget } from './end.ts'
export { createTarget, publicUrl, redirectTarget, resealTarget } from './targets.change.ts'
export { cancelLeftovers, cancelWithoutTarget, findLeftovers } from './targets.ended.ts'
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
} from './targets.find.ts'
