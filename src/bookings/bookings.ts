export { type FaultyCalendar, faultyCalendars } from './bookings.busy.ts'
export { cancelBooking, reasonMaxLength } from './bookings.cancel.ts'
export { listBookings, listUpcoming, showBooking } from './bookings.find.ts'
export type { BookingView } from './bookings.view.ts'
