import ical, { ICalAttendeeRole, ICalAttendeeStatus, ICalCalendarMethod, ICalEventStatus } from 'ical-generator'
import type { BookingRow } from './bookings.view.ts'

interface CalendarEntry {
  booking: BookingRow
  /** It is null if it is unknown. */
  organizer: { name: string; email: string } | null
  description: string
  now: Date
  /** To download: without an attendee, so that no calendar program asks for a reply or sends one. */
  isPublished?: boolean
}

/**
 * Returns the iCalendar text that adds a booking to the attendee's calendar, updates it or removes it (RFC 5545, RFC 5546). The
 * UID is the booking's id, so calendars recognise updates; the highest SEQUENCE wins. Times are in UTC: each calendar shows them
 * in its own time zone.
 */
export const calendarEntry = ({ booking, organizer, description, now, isPublished }: CalendarEntry): string => {
  const isCancelled = booking.status === 'cancelled'
  const sent = isCancelled ? ICalCalendarMethod.CANCEL : ICalCalendarMethod.REQUEST
  const calendar = ical({
    prodId: { company: 'svc', product: 'bookings', language: 'EN' },
    method: isPublished ? ICalCalendarMethod.PUBLISH : sent,
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
    organizer: organizer && { name: organizer.name || organizer.email, email: organizer.email },
    attendees: isPublished
      ? []
      : [
          {
            name: booking.name,
            email: booking.email,
            role: ICalAttendeeRole.REQ,
            // The attendee chose the time, so calendars don't need to ask for a reply.
            status: ICalAttendeeStatus.ACCEPTED,
            rsvp: false,
          },
        ],
  })
  return calendar.toString()
}
