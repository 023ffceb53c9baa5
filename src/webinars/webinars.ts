/*
 * sessions/ finds, locks and creates, seats/ has registrations and the waitlist, attendance/ who attended and what
 * follows, join/ and register/ the pages (view/: what they share). webinars.run.ts starts, ends, cancels and deletes,
 * webinars.update.ts changes.
 */

export { type AttendeeView, listAttendees } from './attendance/attendees.ts'
export { writeAttendees } from './attendance/export.ts'
export { registerUrl } from './register/register.ts'
export { freeSeat, promoteRegistration } from './seats/places.ts'
export { listRegistrations, type RegistrationView } from './seats/registrations.ts'
export { registerAttendee } from './seats/seats.register.ts'
export { webinarStats } from './seats/seats.stats.ts'
export { createWebinar, requireLive } from './sessions/create.ts'
export { coverMaxBytes, findCover, setCover } from './sessions/sessions.cover.ts'
export {
  findReplay,
  findStream,
  findWebinar,
  listWebinars,
  lockWebinar,
  readDetails,
} from './sessions/sessions.find.ts'
export {
  NewWebinar,
  RegistrationBody,
  RegistrationResult,
  StreamUrl,
  WebinarBody,
  WebinarChange,
  WebinarShape,
  type WebinarView,
} from './sessions/sessions.shapes.ts'
export { cancelWebinar, deleteWebinar, endWebinar, planCancellation, planEnd, startWebinar } from './webinars.run.ts'
export { planUpdate, updateWebinar } from './webinars.update.ts'

declare module '../store/work.ts' {
  interface Listener {
    /** A normalised address got a seat in a webinar, by registration or from the waitlist; called in the transaction that writes it. */
    attendeeRegistered?(
      work: Work,
      registered: { webinar: { id: string; title: string }; email: string },
    ): Promise<void>
    /**
     * It is called with normalised addresses that attended an ended webinar and those that missed it, in batches, in the
     * transaction that decides it.
     */
    attendanceDecided?(
      work: Work,
      decided: { webinar: { id: string; title: string }; attended: readonly string[]; missed: readonly string[] },
    ): Promise<void>
  }
}
