import { readBrand } from '../accounts/accounts.ts'
import { viewUrl } from '../engagement/engagement.ts'
import { findProjectMail, type QueuedMail, queueManyMails, withdrawMails } from '../messages/messages.ts'
import { type FromChoice, findFrom } from '../senders/senders.ts'
import type { App, Work } from '../store/work.ts'
import { calendarEntry } from './bookings.calendar.ts'
import { type BookingLinks, bookingMail, type Change } from './bookings.mails.ts'
import { queuedReminders, type ReminderKind, reminderKey } from './bookings.schedule.ts'
import type { BookingRow } from './bookings.view.ts'

/** Returns the key of the email about the latest change of a booking. */
const changeKey = ({ id, sequence }: BookingRow): string => `booking:${id}:${sequence}`

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
 * Queues one email that reports a change of the booking to the attendee, with the calendar entry, or (`reminder`) reminds of it. It
 * comes from the sender of the email in which the time was booked, or from the default sender if that one was removed.
 */
export const notifyAttendee = async (
  app: NotifyContext,
  work: Work,
  change: Change,
  booking: BookingRow,
  reminder?: ReminderKind,
): Promise<void> => {
  const { accountId, now } = work
  const { id, email, messageId } = booking
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
  // It takes the quota before the commit, after what a withdrawn email has returned.
  const queued: QueuedMail = {
    ...found?.choice,
    to: email,
    type: 'transactional',
    key: reminder ? reminderKey(booking, reminder) : changeKey(booking),
    ...(reminder && { expiresAt: new Date(booking.startAt) }),
    source: { kind: 'lifecycle', id },
    subject,
    content: { html, text, ...entry },
  }
  await queueManyMails(app, work, [queued])
}

/**
 * Withdraws the unsent emails about a booking as it was before it was moved or cancelled: a retry could arrive after the email about
 * the change.
 */
export const withdrawNotices = async (work: Work, before: BookingRow): Promise<void> => {
  const keys = [changeKey(before), ...queuedReminders(before, work.now.getTime())]
  await withdrawMails(work, keys, 'The booking was moved or cancelled')
}
