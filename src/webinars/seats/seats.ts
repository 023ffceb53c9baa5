export { cancelRegistration, fillSeats, freeSeat, promoteRegistration, requireOpen, seatsToFill } from './places.ts'
export { registerAttendee, registerAttendees } from './register.ts'
export { listRegistrations, type RegistrationView } from './registrations.ts'
export { type WebinarStats, webinarStats } from './stats.ts'
