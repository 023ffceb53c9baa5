export { type AttendeeView, firstSeen, lastSeen, listAttendees, minutesSeen } from './attendees.ts'
export { writeAttendees } from './export.ts'
export { planOutcome, publishOutcome } from './outcome.ts'
export { recordPresence } from './presence.ts'
