/*
 * Busy times of a host come from a calendar, which a thread reads (bookings.busy.ts, bookings.ics.ts,
 * bookings.zones.ts). bookings.block.views.ts is the block in the live view.
 */

export { faultyCalendars } from './bookings.busy.ts'
export { cancelBooking, reasonMaxLength } from './bookings.cancel.ts'
export { listBookings, listUpcoming, showBooking } from './bookings.find.ts'
export type { BookingView } from './bookings.view.ts'
