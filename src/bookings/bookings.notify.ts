import { readBrand } from '../accounts/accounts.ts'
import { viewUrl } from '../engagement/engagement.ts'
import { findProjectMail, queueMessage, withdrawMails } from '../messages/messages.ts'
import { type FromChoice, findFrom } from '../senders/senders.ts'
import type { App, Work } from '../store/work.ts'
import { calendarEntry } from './bookings.calendar.ts'
import { type BookingLinks, bookingMail, type Change } from './bookings.mails.ts'
import { queuedReminders, type ReminderKind, reminderKey } from './bookings.schedule.ts'
import type { BookingRow } from './bookings.view.ts'

export type NotifyContext = Pick<App, 'config' | 'projects' | 'tokens'>

/** Returns the URLs of what the attendee of a booking can do. */
export const linksOf = (
  app: NotifyContext,
  accountId: string,
  { id, messageId, blockId }: Pick<BookingRow, 'id' | 'messageId' | 'blockId'>,
): BookingLinks => ({
  choose: `${viewUrl(app as App, accountId, messageId)}?${new URLSearchParams({ block: blockId })}#${blockId}`,
  cancel: `${app.config.publicUrl}/b/${app.tokens.sign('booking', [accountId, id], null)}`,
})

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
  const { id, email, messageId, sequence } = booking
  // The attendee was erased.
  if (email === '') return
  const sent = await findProjectMail(work, accountId, messageId)
  const original: FromChoice = {
    ...(sent?.from && { from: sent.from }),
    ...(sent?.replyTo && { replyTo: sent.replyTo }),
  }
  const found = await findFrom(app, work, [original, {}])
  const links = linksOf(app, accountId, booking)
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
    ...(reminder && { expiresAt: new Date(booking.startAt) }),
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
