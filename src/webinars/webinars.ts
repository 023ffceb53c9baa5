/*
 * sessions/ finds, locks and creates, seats/ has registrations and the waitlist, attendance/ who attended and what
 * follows, join/ and register/ the pages (view/: what they share). webinars.run.ts starts, ends, cancels and deletes,
 * webinars.update.ts changes.
 */

export { type AttendeeView, listAttendees, writeAttendees } from './attendance/attendance.ts'
export { registerUrl } from './register/register.ts'
export {
  freeSeat,
  listRegistrations,
  promoteRegistration,
  type RegistrationView,
  registerAttendee,
  type WebinarStats,
  webinarStats,
} from './seats/seats.ts'
export {
  createWebinar,
  findReplay,
  findStream,
  findWebinar,
  listWebinars,
  lockWebinar,
  NewWebinar,
  RegistrationBody,
  RegistrationResult,
  readDetails,
  requireLive,
  StreamUrl,
  WebinarBody,
  WebinarChange,
  WebinarShape,
  type WebinarView,
} from './sessions/sessions.ts'
export { cancelWebinar, deleteWebinar, endWebinar, planCancellation, planEnd, startWebinar } from './webinars.run.ts'
export { planUpdate, updateWebinar } from './webinars.update.ts'

declare module '../store/work.ts' {
  interface Listener {
    /** A normalised address got a seat in a webinar, by registration or from the waitlist; called in the transaction that writes it. */
    attendeeRegistered?(
      work: Work,
      registered: { webinar: { id: string; title: string }; email: string },
    ): Promise<void>
    /** Called with normalised addresses that attended an ended webinar and those that missed it, in batches, in the transaction that decides it. */
    attendanceDecided?(
      work: Work,
      decided: { webinar: { id: string; title: string }; attended: readonly string[]; missed: readonly string[] },
    ): Promise<void>
  }
}
