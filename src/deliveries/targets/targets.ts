export { createTarget, publicUrl, redirectTarget, resealTarget } from './change.ts'
export { closeTargets, deleteTarget, endTargets, lockTargets, reviveTarget } from './end.ts'
export { cancelLeftovers, cancelWithoutTarget, findLeftovers } from './ended-targets.ts'
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
} from './find.ts'
