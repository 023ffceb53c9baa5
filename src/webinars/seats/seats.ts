export { cancelRegistration, freeSeat, promoteRegistration } from './places.ts'
export { registerAttendee } from './register.ts'
export { listRegistrations, type RegistrationView } from './registrations.ts'
