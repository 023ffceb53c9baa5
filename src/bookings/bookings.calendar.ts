import ical, { ICalAttendeeRole, ICalAttendeeStatus, ICalCalendarMethod, ICalEventStatus } from 'ical-generator'
import type { BookingRow } from './bookings.view.ts'

export interface CalendarEntry {
  booking: BookingRow
  organizer: { name: string; email: string }
  description: string
  now: Date
}

/**
 * The iCalendar text that puts a booking into its attendee's calendar, moves it there, or takes it out (RFC 5545, RFC 5546): the
 * UID is the booking's id, so that a program knows it again, and the newest SEQUENCE wins. Times are UTC: each calendar shows
 * them in its own zone.
 */
export const calendarEntry = ({ booking, organizer, description, now }: CalendarEntry): string => {
  const isCancelled = booking.status === 'cancelled'
  const calendar = ical({
    prodId: { company: 'svc', product: 'bookings', language: 'EN' },
    method: isCancelled ? ICalCalendarMethod.CANCEL : ICalCalendarMethod.REQUEST,
  })
  calendar.createEvent({
    id: booking.id,
    sequence: booking.sequence,
    stamp: now,
    start: new Date(booking.startAt),
    end: new Date(booking.endAt),
    summary: booking.title,
    description,
    status: isCancelled ? ICalEventStatus.CANCELLED : ICalEventStatus.CONFIRMED,
    organizer: { name: organizer.name || organizer.email, email: organizer.email },
    attendees: [
      {
        name: booking.name,
        email: booking.email,
        role: ICalAttendeeRole.REQ,
        // Who chose the time has said yes: no program need ask for an answer, which nobody would read.
        status: ICalAttendeeStatus.ACCEPTED,
        rsvp: false,
      },
    ],
  })
  return calendar.toString()
}
