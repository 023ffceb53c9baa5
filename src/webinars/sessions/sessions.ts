export { createWebinar, requireLive } from './create.ts'
export {
  findReplay,
  findStream,
  findWebinar,
  listWebinars,
  lockWebinar,
  readDetails,
  readWebinar,
  viewWebinar,
  type WebinarRow,
} from './sessions.find.ts'
export {
  NewWebinar,
  RegistrationBody,
  RegistrationResult,
  StreamUrl,
  WebinarBody,
  WebinarChange,
  WebinarShape,
  type WebinarView,
} from './sessions.shapes.ts'
