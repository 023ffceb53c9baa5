export { type AwaitedWhere, matchesWhere, parseAwaited } from './awaited.ts'
export {
  type Definition,
  exitRules,
  isHttpUrl,
  JourneyFile,
  type RunStatus,
  runStatuses,
  type Step,
  type Trigger,
  type TriggerKind,
  triggerKey,
  triggerKinds,
} from './definition.schema.ts'
export { after, type Cursor, firstCursor, into, pathOf, type Side, stepAt } from './walk.ts'
