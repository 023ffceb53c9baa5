export {
  freeSeat,
  listRegistrations,
  promoteRegistration,
  type RegistrationView,
  registerAttendee,
} from './seats/seats.ts'
export {
  createWebinar,
  findStream,
  findWebinar,
  listWebinars,
  NewWebinar,
  RegistrationBody,
  RegistrationResult,
  requireLive,
  StreamUrl,
  WebinarBody,
  WebinarShape,
  type WebinarView,
} from './sessions/sessions.ts'
export { cancelWebinar, endWebinar, startWebinar } from './webinars.run.ts'
