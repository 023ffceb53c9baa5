import { type MailBrand, type PlainPart, plainMail } from '../pages/plain-mail.ts'
import { type BookingRow, clockOf, dayOf, spanLines } from './bookings.view.ts'

/** What an email reports to the attendee. */
export type Change = 'booked' | 'moved' | 'cancelled' | 'reminder'

interface BookingMail {
  subject: string
  html: string
  text: string
  /** The description of the calendar entry. */
  description: string
}

/** URLs of the attendee's actions. */
export interface BookingLinks {
  /** The block in the email's live view, where another time can be chosen. */
  choose: string
  cancel: string
}

const headings: Record<Change, string> = {
  booked: 'Booked',
  moved: 'New time',
  cancelled: 'Cancelled',
  reminder: 'Reminder',
}

const cancelled = ({ cancelledBy }: BookingRow): string =>
  cancelledBy === 'host' ? 'Your booking was cancelled.' : 'You have cancelled your booking.'

const openings = (booking: BookingRow): Record<Change, string> => ({
  booked: 'You are booked. The invitation for your calendar is attached.',
  moved: 'Your booking has a new time. The attached invitation updates your calendar.',
  cancelled: `${cancelled(booking)} The attached file removes it from your calendar.`,
  reminder: 'This is a reminder of your booking.',
})

const linkParts = ({ status }: BookingRow, { choose, cancel }: BookingLinks) => [
  { label: 'Choose another time', url: choose, button: true as const },
  ...(status === 'cancelled' ? [] : [{ label: 'Cancel the booking', url: cancel }]),
]

export const entryDescription = (booking: BookingRow, links: BookingLinks): string =>
  linkParts(booking, links)
    .map(({ label, url }) => `${label}: ${url}`)
    .join('\n\n')

/** Returns the email that notifies an attendee of a booking, its new time or its cancellation, or reminds of it. */
export const bookingMail = (
  change: Change,
  booking: BookingRow,
  links: BookingLinks,
  brand?: MailBrand,
): BookingMail => {
  const { title, startAt, timezone, reason } = booking
  const actions = linkParts(booking, links)
  const parts: PlainPart[] = [
    `Hello ${booking.name},`,
    openings(booking)[change],
    { title, lines: spanLines(booking, brand?.lang) },
    ...(change === 'cancelled' && reason ? [`Reason: ${reason}`] : []),
    ...actions,
  ]
  const [day, clock] = [dayOf(startAt, timezone, brand?.lang), clockOf(startAt, timezone, brand?.lang)]
  const subject = `${headings[change]}: ${title}, ${day}, ${clock}`
  return {
    ...plainMail(subject, parts, { preheader: openings(booking)[change], heading: headings[change], brand }),
    subject,
    description: entryDescription(booking, links),
  }
}
