export { listRegistrations, type Place, placeOf, type RegistrationView } from './webinars.attendees.ts'
export { calendarOf } from './webinars.calendar.ts'
export { createWebinar } from './webinars.create.ts'
export { findStream, findWebinar, listWebinars } from './webinars.find.ts'
export { requireLive } from './webinars.quota.ts'
export { registerAttendee } from './webinars.register.ts'
export { cancelWebinar, endWebinar, startWebinar } from './webinars.run.ts'
export { cancelRegistration, freeSeat, promoteRegistration, registerAttendees } from './webinars.seats.ts'
export {
  NewWebinar,
  RegistrationBody,
  RegistrationResult,
  StreamUrl,
  WebinarBody,
  WebinarShape,
  type WebinarView,
} from './webinars.shapes.ts'
