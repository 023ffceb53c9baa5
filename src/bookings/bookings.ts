export { type Cancellation, cancelBooking, reasonMaxLength } from './bookings.cancel.ts'
export { type BookingFilter, listBookings, listUpcoming, showBooking } from './bookings.find.ts'
export type { BookingView } from './bookings.view.ts'
