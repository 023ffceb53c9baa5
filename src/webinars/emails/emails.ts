import { type LifecycleMail, queueManyLifecycleMails } from '../../lifecycle/lifecycle.ts'
import type { App, Work } from '../../store/work.ts'
import type { WebinarRow } from '../sessions/sessions.ts'
import {
  cancellationMail,
  confirmationMail,
  linksOf,
  type MailFacts,
  movedMail,
  movedWaitlistMail,
  reminderMail,
  timeText,
  waitlistMail,
} from './attendee.mails.ts'
import { calendarOf } from './calendar.ts'

export { linksOf, timeText } from './attendee.mails.ts'
export { calendarOf } from './calendar.ts'

/** The recipient of an email. */
export interface Attendee {
  id: string
  /** Normalised. */
  email: string
  name: string
}

/** The kinds of emails. `registered` and `reminder` can be bound to a project; the others are always plain (docs/reference/mail.md#lifecycle-emails). */
type Notice = 'registered' | 'reminder' | 'waitlisted' | 'moved' | 'moved on the waitlist' | 'cancelled'

const plainOf: Record<Notice, (facts: MailFacts) => LifecycleMail['plain']> = {
  registered: confirmationMail,
  reminder: reminderMail,
  waitlisted: waitlistMail,
  moved: movedMail,
  'moved on the waitlist': movedWaitlistMail,
  cancelled: cancellationMail,
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
  attendees: readonly Attendee[],
  keyOf: (attendee: Attendee) => string | null = () => null,
): Promise<void> => {
  const { id: webinarId, title, scheduledAt, sequence } = webinar
  for (let from = 0; from < attendees.length; from += batchSize) {
    const mails = attendees.slice(from, from + batchSize).map((attendee): LifecycleMail => {
      const { id, email, name } = attendee
      const links = linksOf(app, work.accountId, id)
      return {
        subject: { kind: 'webinar', id: webinarId },
        event: notice === 'moved on the waitlist' ? 'moved' : notice,
        to: email,
        key: keyOf(attendee),
        mergeData: {
          name,
          email,
          title,
          scheduledAt: scheduledAt ? timeText(scheduledAt) : '',
          joinUrl: links.join,
          cancelUrl: links.cancel,
        },
        plain: {
          ...plainOf[notice]({ name, title, scheduledAt, links }),
          ...(notice === 'moved' &&
            scheduledAt && {
              calendar: calendarOf({
                id: webinarId,
                title,
                scheduledAt,
                sequence,
                joinUrl: links.join,
                stamp: work.now,
              }),
            }),
        },
      }
    })
    await queueManyLifecycleMails(app, work, mails)
  }
}
