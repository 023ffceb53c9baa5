import { viewUrl } from '../engagement/engagement.ts'
import { type FromChoice, findFrom, findProjectMail, queueMessage } from '../messages/messages.ts'
import type { App, Work } from '../store/work.ts'
import { calendarEntry } from './bookings.calendar.ts'
import { bookingMail, type Change } from './bookings.mails.ts'
import type { BookingRow } from './bookings.view.ts'

export type NotifyContext = Pick<App, 'config' | 'projects' | 'tokens'>

/** Returns the URL of the attendee's cancellation page. */
const cancelUrl = ({ tokens, config }: NotifyContext, accountId: string, id: string): string =>
  `${config.publicUrl}/b/${tokens.sign('booking', [accountId, id], null)}`

/**
 * Queues one email that reports a change of the booking to the attendee, with the calendar entry. It comes from the sender of the
 * email in which the time was booked, or from the default sender if that one was removed. Locks the counter of the monthly quota:
 * call it last.
 */
export const notifyAttendee = async (
  app: NotifyContext,
  work: Work,
  change: Change,
  booking: BookingRow,
): Promise<void> => {
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
