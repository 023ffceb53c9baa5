import { type Locale, spanTexts } from '../../lib/dates.ts'
import { type MailBrand, type PlainMail, type PlainPart, plainMail } from '../../pages/plain-mail.ts'
import type { App } from '../../store/work.ts'

/** The page URLs of a registration. Each is authorised only by its token. */
interface Links {
  join: string
  calendar: string
  cancel: string
  /** The link for leaving the waitlist. */
  leave: string
}

/** Returns the links of a registration. They never expire; the registration's state decides what they show. */
export const linksOf = (
  { config, tokens }: Pick<App, 'config' | 'tokens'>,
  accountId: string,
  registrationId: string,
): Links => {
  const join = `${config.publicUrl}/join/${tokens.sign('join', [accountId, registrationId], null)}`
  const leave = `${config.publicUrl}/w/${tokens.sign('waitlist', [accountId, registrationId], null)}`
  return { join, calendar: `${join}/calendar.ics`, cancel: `${join}/cancel`, leave }
}

/** The content of a webinar's emails. */
export interface MailFacts {
  name: string
  title: string
  scheduledAt: Date | null
  durationMinutes: number
  /** How dates are written. The default is English, in UTC. */
  locale?: Locale
  links: Links
  replayUrl?: string | null
  brand?: MailBrand
}

type Facts = Omit<MailFacts, 'links'>

/** Returns the lines of date, times and zone. There are none without a time. */
const timesOf = ({ scheduledAt, durationMinutes, locale }: Facts): readonly string[] =>
  scheduledAt ? spanTexts(scheduledAt, new Date(scheduledAt.getTime() + durationMinutes * 60_000), locale) : []

const session = (facts: Facts): PlainPart => ({ title: facts.title, lines: timesOf(facts) })

/** `prefix` and the title are the subject; `opening` is the first paragraph and begins the preheader. */
const mailOf = (
  facts: Facts,
  prefix: string,
  opening: string,
  parts: readonly PlainPart[] = [],
  heading = prefix,
): PlainMail =>
  plainMail(`${prefix}: ${facts.title}`, [`Hello ${facts.name},`, opening, session(facts), ...parts], {
    preheader: [opening, ...timesOf(facts)].join(' · '),
    heading,
    brand: facts.brand,
  })

const join = ({ links }: MailFacts) => ({ label: 'Join the session', url: links.join, button: true as const })

const calendar = ({ scheduledAt, links }: MailFacts) =>
  scheduledAt ? [{ label: 'Add to your calendar', url: links.calendar }] : []

const cancel = ({ links }: MailFacts) => ({ label: 'Can’t come? Cancel my registration', url: links.cancel })

const leave = ({ links }: MailFacts) => ({ label: 'Leave the waitlist', url: links.leave })

/** Builds the email about a new time for a person with a seat. The calendar entry is attached. */
export const movedMail = (facts: MailFacts): PlainMail =>
  mailOf(
    facts,
    'New time',
    'The session has a new time. You keep your seat, and the attached file updates your calendar.',
    [join(facts), cancel(facts)],
  )

/** Builds the email about a new time for a person on the waitlist, who has no link to join and no calendar entry. */
export const movedWaitlistMail = (facts: MailFacts): PlainMail =>
  mailOf(facts, 'New time', 'The session has a new time. You keep your place on the waitlist.', [leave(facts)])

/** Builds the confirmation for a person who got a seat, directly or from the waitlist. */
export const confirmationMail = (facts: MailFacts): PlainMail =>
  mailOf(facts, 'You are registered', 'You have a seat.', [join(facts), ...calendar(facts), cancel(facts)])

export const waitlistMail = (facts: MailFacts): PlainMail =>
  mailOf(facts, 'You are on the waitlist', 'All seats are taken. We’ll email you when a seat is free.', [leave(facts)])

export const reminderMail = (facts: MailFacts): PlainMail =>
  mailOf(facts, 'Reminder', 'You have a seat.', [join(facts), ...calendar(facts), cancel(facts)])

export const cancellationMail = (facts: Facts): PlainMail =>
  mailOf(facts, 'Cancelled', 'This session has been cancelled.')

/** Builds the email for a person who has cancelled their seat. */
export const leftMail = (facts: MailFacts): PlainMail =>
  mailOf(
    facts,
    'Registration cancelled',
    'You have cancelled your registration. The attached file removes it from your calendar.',
  )

const recording = ({ replayUrl, links }: MailFacts) =>
  replayUrl ? [{ label: 'Watch the recording', url: links.join, button: true as const }] : []

export const attendedMail = (facts: MailFacts): PlainMail =>
  mailOf(facts, 'Thank you for attending', 'It was good to have you with us.', recording(facts))

export const missedMail = (facts: MailFacts): PlainMail =>
  mailOf(facts, 'You missed', 'You had a seat in this session.', recording(facts), 'We missed you')
