import { type LifecycleMail, queueLifecycleMails } from '../lifecycle/lifecycle.ts'
import type { App, Work } from '../store/work.ts'
import type { Held } from './webinars.find.ts'
import { linksOf } from './webinars.links.ts'
import {
  cancellationMail,
  confirmationMail,
  type MailFacts,
  reminderMail,
  timeText,
  waitlistMail,
} from './webinars.mails.ts'

/** Who gets a mail. */
export interface Attendee {
  id: string
  /** Normalised. */
  email: string
  name: string
}

/** What happened: `registered` and `reminder` may be bound to a project, the others are always plain (api.md section 4). */
export type Notice = 'registered' | 'reminder' | 'waitlisted' | 'cancelled'

const plainOf: Record<Notice, (facts: MailFacts) => LifecycleMail['plain']> = {
  registered: confirmationMail,
  reminder: reminderMail,
  waitlisted: waitlistMail,
  cancelled: cancellationMail,
}

/** The parts of the app that a webinar's mails need. */
export type MailApp = Pick<App, 'config' | 'projects' | 'tokens'>

/** At most so many mails are written by one statement. */
const batchSize = 500

/**
 * Queues a mail to each, in the unit of work of what they are told. `keyOf`: the key by which each goes once, ever. Late in
 * the unit of work: it counts as volume.
 */
export const notify = async (
  app: MailApp,
  work: Work,
  webinar: Pick<Held, 'id' | 'title' | 'scheduledAt'>,
  notice: Notice,
  attendees: readonly Attendee[],
  keyOf: (attendee: Attendee) => string | null = () => null,
): Promise<void> => {
  const { id: webinarId, title, scheduledAt } = webinar
  const event = notice === 'registered' || notice === 'reminder' ? notice : null
  for (let from = 0; from < attendees.length; from += batchSize) {
    const mails = attendees.slice(from, from + batchSize).map((attendee): LifecycleMail => {
      const { id, email, name } = attendee
      const links = linksOf(app, work.accountId, id)
      return {
        subject: { kind: 'webinar', id: webinarId },
        event,
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
        plain: plainOf[notice]({ name, title, scheduledAt, links }),
      }
    })
    await queueLifecycleMails(app, work, mails)
  }
}
