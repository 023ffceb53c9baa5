import { ICalAttendeeRole, ICalAttendeeStatus, ICalCalendar, ICalCalendarMethod, ICalEventStatus } from 'ical-generator'

/** The session as a calendar entry shows it. */
interface Entry {
  id: string
  title: string
  description: string
  scheduledAt: Date
  durationMinutes: number
  sequence: number
  /** The page to join; of an entry that is for everyone, the page to register. */
  joinUrl: string
  isForEveryone?: boolean
  /** The time of the file's creation. */
  stamp: Date
}

/** An invitation to one attendee, or its withdrawal. */
interface Invitation {
  isCancelled: boolean
  organizer: { name: string; email: string }
  attendee: { name: string; email: string }
}

/**
 * Returns the session as an iCalendar file (RFC 5545): an invitation from the organiser to the attendee (RFC 5546), or without one a plain
 * entry to download. The UID is that of the webinar, so calendars recognise a change by its higher SEQUENCE.
 */
export const calendarOf = (session: Entry, invitation?: Invitation): string => {
  const { id, title, description, scheduledAt, durationMinutes, sequence, joinUrl, isForEveryone, stamp } = session
  const { isCancelled = false, organizer, attendee } = invitation ?? {}
  const method = isCancelled ? 'CANCEL' : invitation ? 'REQUEST' : 'PUBLISH'
  const calendar = new ICalCalendar({ prodId: '//svc//webinars//EN', method: ICalCalendarMethod[method] })
  calendar.createEvent({
    id: `${id}@${new URL(joinUrl).hostname}`,
    sequence,
    stamp,
    start: scheduledAt,
    end: new Date(scheduledAt.getTime() + durationMinutes * 60_000),
    summary: title,
    description: [description, `${isForEveryone ? 'Register' : 'Join'}: ${joinUrl}`].filter(Boolean).join('\n\n'),
    url: joinUrl,
    ...(organizer &&
      attendee && {
        status: isCancelled ? ICalEventStatus.CANCELLED : ICalEventStatus.CONFIRMED,
        organizer: { name: organizer.name || organizer.email, email: organizer.email },
        attendees: [
          {
            ...attendee,
            role: ICalAttendeeRole.REQ,
            // They have registered, so calendars don't need to ask for a reply.
            status: ICalAttendeeStatus.ACCEPTED,
            rsvp: false,
          },
        ],
      }),
  })
  return calendar.toString()
}
