import { viewUrl } from '../engagement/engagement.ts'
import { type FromChoice, findFrom, findProjectMail, queueMessage } from '../messages/messages.ts'
import type { App, Work } from '../store/work.ts'
import { calendarEntry } from './bookings.calendar.ts'
import { bookingMail, type Change } from './bookings.mails.ts'
import type { BookingRow } from './bookings.view.ts'

export type Teller = Pick<App, 'config' | 'projects' | 'tokens'>

/** Where the attendee cancels. */
const cancelUrl = ({ tokens, config }: Teller, accountId: string, id: string): string =>
  `${config.publicUrl}/b/${tokens.sign('booking', [accountId, id], null)}`

/**
 * Mails the attendee what has become of the booking, with the calendar entry, from whom the mail came in which it was booked;
 * where that is a sender no more, from the default one. One mail for a change. Counts the volume quota: call it last.
 */
export const tellAttendee = async (app: Teller, work: Work, change: Change, booking: BookingRow): Promise<void> => {
  const { accountId, now } = work
  const { id, email, messageId, blockId, sequence } = booking
  // The attendee was erased.
  if (email === '') return
  const sent = await findProjectMail(work, accountId, messageId)
  const original: FromChoice = {
    ...(sent?.from && { from: sent.from }),
    ...(sent?.replyTo && { replyTo: sent.replyTo }),
  }
  const found = await findFrom(app, work, [original, {}])
  const { subject, html, text, description } = bookingMail(change, booking, {
    choose: `${viewUrl(app as App, accountId, messageId)}#${blockId}`,
    cancel: cancelUrl(app, accountId, id),
  })
  const entry = found && {
    calendar: calendarEntry({
      booking,
      organizer: { name: found.from.fromName, email: found.from.fromEmail },
      description,
      now,
    }),
  }
  await queueMessage(app, work, {
    ...found?.choice,
    to: email,
    type: 'transactional',
    key: `booking:${id}:${sequence}`,
    source: { kind: 'lifecycle', id },
    subject,
    content: { html, text, ...entry },
  })
}
