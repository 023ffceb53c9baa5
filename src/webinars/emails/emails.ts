import { readBrand } from '../../accounts/accounts.ts'
import { timeText } from '../../lib/dates.ts'
import { type LifecycleMail, queueManyLifecycleMails, withdrawLifecycleMails } from '../../lifecycle/lifecycle.ts'
import type { App, Work } from '../../store/work.ts'
import type { WebinarRow } from '../sessions/sessions.find.ts'
import {
  attendedMail,
  cancellationMail,
  confirmationMail,
  leftMail,
  linksOf,
  type MailFacts,
  missedMail,
  movedMail,
  movedWaitlistMail,
  reminderMail,
  waitlistMail,
} from './attendee.mails.ts'
import { calendarOf } from './emails.calendar.ts'

export { linksOf } from './attendee.mails.ts'
export { calendarOf } from './emails.calendar.ts'

/** The recipient of an email. */
export interface Attendee {
  id: string
  /** Normalised. */
  email: string
  name: string
}

/**
 * The kinds of emails. `registered`, `reminder`, `attended` and `missed` can be bound to a project, and the last two are only sent then; the
 * others are always plain (docs/reference/mail.md#lifecycle-emails). `registered again` replaces a confirmation that was withdrawn before it was sent.
 */
export type Notice =
  | 'registered'
  | 'registered again'
  | 'reminder'
  | 'waitlisted'
  | 'moved'
  | 'moved on the waitlist'
  | 'cancelled'
  | 'cancelled on the waitlist'
  | 'left'
  | 'attended'
  | 'missed'

interface Kind {
  event: LifecycleMail['event']
  plain: (facts: MailFacts) => LifecycleMail['plain']
  /** The calendar entry that the email carries. */
  entry?: 'invitation' | 'cancellation'
}

const kinds: Record<Notice, Kind> = {
  registered: { event: 'registered', plain: confirmationMail, entry: 'invitation' },
  'registered again': { event: 'registered', plain: confirmationMail, entry: 'invitation' },
  reminder: { event: 'reminder', plain: reminderMail },
  waitlisted: { event: 'waitlisted', plain: waitlistMail },
  moved: { event: 'moved', plain: movedMail, entry: 'invitation' },
  'moved on the waitlist': { event: 'moved', plain: movedWaitlistMail },
  cancelled: { event: 'cancelled', plain: cancellationMail, entry: 'cancellation' },
  'cancelled on the waitlist': { event: 'cancelled', plain: cancellationMail },
  left: { event: 'left', plain: leftMail, entry: 'cancellation' },
  attended: { event: 'attended', plain: attendedMail },
  missed: { event: 'missed', plain: missedMail },
}

/** The parts of the app that a webinar's emails need. */
export type MailApp = Pick<App, 'config' | 'projects' | 'tokens'>

/** Maximum number of emails that one statement writes. */
const batchSize = 500

/**
 * Queues an email to each attendee, in the unit of work of the change. An email with the same key (`keyOf`) is never sent twice.
 * The email quota is taken once, before the commit.
 */
export const notifyAttendees = async (
  app: MailApp,
  work: Work,
  webinar: WebinarRow,
  notice: Notice,
  attendees: readonly (Attendee & { minutes?: number })[],
  keyOf: (attendee: Attendee) => string | null = () => null,
): Promise<void> => {
  const { id: webinarId, title, scheduledAt, durationMinutes, timezone, replayUrl } = webinar
  const { event, plain, entry } = kinds[notice]
  const brand = { ...(await readBrand(work)), publicUrl: app.config.publicUrl }
  const locale = { lang: brand.lang, timezone: timezone ?? brand.timezone }
  for (let from = 0; from < attendees.length; from += batchSize) {
    const mails = attendees.slice(from, from + batchSize).map((attendee): LifecycleMail => {
      const { id, email, name, minutes } = attendee
      const links = linksOf(app, work.accountId, id)
      const session = scheduledAt && { ...webinar, scheduledAt, joinUrl: links.join, stamp: work.now }
      return {
        subject: { kind: 'webinar', id: webinarId },
        event,
        to: email,
        key: keyOf(attendee),
        ...(notice === 'reminder' && scheduledAt && { expiresAt: scheduledAt }),
        mergeData: {
          name,
          email,
          title,
          scheduledAt: scheduledAt ? timeText(scheduledAt, locale) : '',
          joinUrl: links.join,
          cancelUrl: links.cancel,
          ...(minutes !== undefined && { minutes: String(minutes), replayUrl: replayUrl ?? '' }),
        },
        plain: plain({ name, title, scheduledAt, durationMinutes, locale, links, replayUrl, brand }),
        entry:
          entry && session
            ? (organizer) =>
                calendarOf(session, { isCancelled: entry === 'cancellation', organizer, attendee: { name, email } })
            : undefined,
      }
    })
    await queueManyLifecycleMails(app, work, mails)
  }
}

/** The events whose emails announce the session. */
const announcing = ['registered', 'waitlisted', 'reminder', 'moved'] as const

/**
 * Withdraws the unsent emails that announce a session whose time has changed or that was cancelled. With `to`, withdraws only those to
 * this address, whose registration was cancelled. A retry could arrive after the email about the change. Returns the recipients.
 */
export const withdrawAnnouncements = (
  work: Work,
  webinarId: string,
  error: string,
  to?: string,
): ReturnType<typeof withdrawLifecycleMails> =>
  withdrawLifecycleMails(work, { kind: 'webinar', id: webinarId }, announcing, error, to)
