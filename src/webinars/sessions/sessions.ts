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
} from './find.ts'
export {
  NewWebinar,
  RegistrationBody,
  RegistrationResult,
  StreamUrl,
  WebinarBody,
  WebinarChange,
  WebinarShape,
  type WebinarView,
} from './shapes.ts'
