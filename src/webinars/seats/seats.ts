export { cancelRegistration, fillSeats, freeSeat, promoteRegistration, requireOpen, seatsToFill } from './places.ts'
export { listRegistrations, type RegistrationView } from './registrations.ts'
export { registerAttendee, registerAttendees } from './seats.register.ts'
export { type WebinarStats, webinarStats } from './seats.stats.ts'
