import { readBrand } from '../accounts/accounts.ts'
import { viewUrl } from '../engagement/engagement.ts'
import { type FromChoice, findFrom, findProjectMail, queueMessage, withdrawMails } from '../messages/messages.ts'
import type { App, Work } from '../store/work.ts'
import { calendarEntry } from './bookings.calendar.ts'
import { bookingMail, type Change } from './bookings.mails.ts'
import { queuedReminders, type ReminderKind, reminderKey } from './bookings.schedule.ts'
import type { BookingRow } from './bookings.view.ts'

export type NotifyContext = Pick<App, 'config' | 'projects' | 'tokens'>

/** Returns the URL of the attendee's cancellation page. */
const cancelUrl = ({ tokens, config }: NotifyContext, accountId: string, id: string): string =>
  `${config.publicUrl}/b/${tokens.sign('booking', [accountId, id], null)}`

/**
 * Queues one email that reports a change of the booking to the attendee, with the calendar entry, or (`reminder`) reminds of it. It comes from the sender of the
 * email in which the time was booked, or from the default sender if that one was removed. Locks the counter of the monthly quota:
 * call it last.
 */
export const notifyAttendee = async (
  app: NotifyContext,
  work: Work,
  change: Change,
  booking: BookingRow,
  reminder?: ReminderKind,
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
  const links = {
    choose: `${viewUrl(app as App, accountId, messageId)}#${blockId}`,
    cancel: cancelUrl(app, accountId, id),
  }
  const brand = { ...(await readBrand(work)), publicUrl: app.config.publicUrl }
  const { subject, html, text, description } = bookingMail(change, booking, links, brand)
  const entry = found &&
    change !== 'reminder' && {
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
    key: reminder ? reminderKey(booking, reminder) : `booking:${id}:${sequence}`,
    source: { kind: 'lifecycle', id },
    subject,
    content: { html, text, ...entry },
  })
}

/** Withdraws reminders of a booking that still wait, before it is moved or cancelled. */
export const withdrawReminders = async (work: Work, booking: BookingRow): Promise<void> => {
  const keys = queuedReminders(booking, work.now.getTime())
  if (keys.length > 0) await withdrawMails(work, keys, 'The booking was moved or cancelled')
}
