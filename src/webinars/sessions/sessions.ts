export { createWebinar, requireLive } from './create.ts'
export { findStream, findWebinar, listWebinars, lockWebinar, viewWebinar, type WebinarRow } from './find.ts'
export {
  NewWebinar,
  RegistrationBody,
  RegistrationResult,
  StreamUrl,
  WebinarBody,
  WebinarShape,
  type WebinarView,
} from './shapes.ts'
