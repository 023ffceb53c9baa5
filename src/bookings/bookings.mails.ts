import { escapeHtml } from '../lib/html.ts'
import { clockOf, dayOf, spanText } from './bookings.times.ts'
import type { BookingRow } from './bookings.view.ts'

/** What an attendee is told. */
export type Change = 'booked' | 'moved' | 'cancelled'

export interface BookingMail {
  subject: string
  html: string
  text: string
  /** What the calendar entry says of it. */
  description: string
}

/** Where the attendee does what. */
export interface BookingLinks {
  /** The mail's live view, at the block: another time is chosen there. */
  choose: string
  cancel: string
}

interface Line {
  text: string
  link?: string
}

const htmlOf = (lines: readonly Line[]): string => {
  const paragraphs = lines.map(({ text, link }) =>
    link
      ? `<p><a href="${escapeHtml(link)}">${escapeHtml(text)}</a></p>`
      : `<p>${escapeHtml(text).replaceAll('\n', '<br>')}</p>`,
  )
  return `<!doctype html>
<html lang="en">
<body style="font-family:sans-serif;font-size:16px;line-height:1.5">
${paragraphs.join('\n')}
</body>
</html>
`
}

const textOf = (lines: readonly Line[]): string =>
  `${lines.map(({ text, link }) => (link ? `${text}: ${link}` : text)).join('\n\n')}\n`

const headings: Record<Change, string> = { booked: 'Booked', moved: 'New time', cancelled: 'Cancelled' }

const openings = ({ cancelledBy }: BookingRow): Record<Change, string> => ({
  booked: 'You are booked. The invitation is attached for your calendar.',
  moved: 'Your booking has a new time. The attached invitation changes it in your calendar.',
  cancelled: `${cancelledBy === 'host' ? 'Your booking was cancelled.' : 'You have cancelled your booking.'} The attached file takes it out of your calendar.`,
})

const linkLines = ({ status }: BookingRow, { choose, cancel }: BookingLinks): Line[] =>
  status === 'cancelled'
    ? [{ text: 'Choose another time', link: choose }]
    : [
        { text: 'Choose another time', link: choose },
        { text: 'Cancel the booking', link: cancel },
      ]

/** The mail that tells an attendee of a booking, its new time or its end. */
export const bookingMail = (change: Change, booking: BookingRow, links: BookingLinks): BookingMail => {
  const { title, startAt, timezone, reason } = booking
  const actions = linkLines(booking, links)
  const lines: Line[] = [
    { text: `Hello ${booking.name},` },
    { text: openings(booking)[change] },
    { text: `${title}\n${spanText(booking)}` },
    ...(change === 'cancelled' && reason ? [{ text: `Reason: ${reason}` }] : []),
    ...actions,
  ]
  return {
    subject: `${headings[change]}: ${title}, ${dayOf(startAt, timezone)}, ${clockOf(startAt, timezone)}`,
    html: htmlOf(lines),
    text: textOf(lines),
    description: textOf(actions).trim(),
  }
}
