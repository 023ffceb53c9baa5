import { ICalCalendar, ICalCalendarMethod } from 'ical-generator'

/** Webinars have no planned end. Calendars show an hour. */
const assumedMs = 3_600_000

/**
 * Returns the session as an iCalendar file (RFC 5545). The UID is that of the webinar, so calendars recognise a new time by its
 * higher SEQUENCE. `stamp` is the time of the file's creation.
 */
export const calendarOf = (session: {
  id: string
  title: string
  scheduledAt: Date
  sequence: number
  joinUrl: string
  stamp: Date
}): string => {
  const { id, title, scheduledAt, sequence, joinUrl, stamp } = session
  const calendar = new ICalCalendar({ prodId: '//svc//webinars//EN', method: ICalCalendarMethod.PUBLISH })
  calendar.createEvent({
    id: `${id}@${new URL(joinUrl).hostname}`,
    sequence,
    stamp,
    start: scheduledAt,
    end: new Date(scheduledAt.getTime() + assumedMs),
    summary: title,
    description: `Join: ${joinUrl}`,
    url: joinUrl,
  })
  return calendar.toString()
}
