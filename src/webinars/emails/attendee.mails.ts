import { type Locale, timeText } from '../../lib/dates.ts'
import { type MailBrand, type PlainMail, type PlainPart, plainMail } from '../../pages/plain-mail.ts'
import type { App } from '../../store/work.ts'

/** The page URLs of a registration. Each is authorised only by its token. */
export interface Links {
  join: string
  calendar: string
  cancel: string
  /** Only for leaving the waitlist. */
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
  /** How dates are written; default: in English, in UTC. */
  locale?: Locale
  links: Links
  /** The recording. */
  replayUrl?: string | null
  brand?: MailBrand
}

const when = ({ scheduledAt, locale }: MailFacts, verb: string): string[] =>
  scheduledAt ? [`It ${verb} on ${timeText(scheduledAt, locale)}.`] : []

const calendar = ({ scheduledAt, links }: MailFacts) =>
  scheduledAt ? [{ label: 'Add to your calendar', url: links.calendar }] : []

const mailOf = ({ brand }: Pick<MailFacts, 'brand'>, subject: string, parts: readonly PlainPart[]): PlainMail =>
  plainMail(subject, parts, { brand })

/** The beginning of an email about a new time. */
const movedParts = (facts: MailFacts): string[] => [
  `Hello ${facts.name},`,
  `${facts.title} has a new time.`,
  ...when(facts, 'begins'),
]

/** For a person with a seat. The calendar entry is attached. */
export const movedMail = (facts: MailFacts): PlainMail =>
  mailOf(facts, `New time: ${facts.title}`, [
    ...movedParts(facts),
    'You keep your seat. The attached file updates your calendar.',
    { label: 'Join the session', url: facts.links.join, button: true },
    { label: 'Can’t come? Cancel my registration', url: facts.links.cancel },
  ])

/** For a person on the waitlist, who has no link to join and no calendar entry. */
export const movedWaitlistMail = (facts: MailFacts): PlainMail =>
  mailOf(facts, `New time: ${facts.title}`, [
    ...movedParts(facts),
    'You keep your place on the waitlist.',
    { label: 'Leave the waitlist', url: facts.links.leave },
  ])

/** For a person who got a seat, directly or from the waitlist. */
export const confirmationMail = (facts: MailFacts): PlainMail =>
  mailOf(facts, `You are registered: ${facts.title}`, [
    `Hello ${facts.name},`,
    `You have a seat in ${facts.title}.`,
    ...when(facts, 'begins'),
    { label: 'Join the session', url: facts.links.join, button: true },
    ...calendar(facts),
    { label: 'Can’t come? Cancel my registration', url: facts.links.cancel },
  ])

export const waitlistMail = (facts: MailFacts): PlainMail =>
  mailOf(facts, `You are on the waitlist: ${facts.title}`, [
    `Hello ${facts.name},`,
    `All seats in ${facts.title} are taken. You are on the waitlist: we’ll email you when a seat is free.`,
    ...when(facts, 'begins'),
    { label: 'Leave the waitlist', url: facts.links.leave },
  ])

export const reminderMail = (facts: MailFacts): PlainMail =>
  mailOf(facts, `Reminder: ${facts.title}`, [
    `Hello ${facts.name},`,
    `You have a seat in ${facts.title}.`,
    ...when(facts, 'begins'),
    { label: 'Join the session', url: facts.links.join, button: true },
    ...calendar(facts),
    { label: 'Can’t come? Cancel my registration', url: facts.links.cancel },
  ])

export const cancellationMail = (facts: Omit<MailFacts, 'links'>): PlainMail =>
  mailOf(facts, `Cancelled: ${facts.title}`, [
    `Hello ${facts.name},`,
    facts.scheduledAt
      ? `${facts.title}, planned for ${timeText(facts.scheduledAt, facts.locale)}, has been cancelled.`
      : `${facts.title} has been cancelled.`,
  ])

/** For a person who has cancelled their seat. */
export const leftMail = (facts: MailFacts): PlainMail =>
  mailOf(facts, `Registration cancelled: ${facts.title}`, [
    `Hello ${facts.name},`,
    `You have cancelled your registration for ${facts.title}. The attached file removes it from your calendar.`,
  ])

const recording = ({ replayUrl, links }: MailFacts) =>
  replayUrl ? [{ label: 'Watch the recording', url: links.join, button: true as const }] : []

export const attendedMail = (facts: MailFacts): PlainMail =>
  mailOf(facts, `Thank you for attending: ${facts.title}`, [
    `Hello ${facts.name},`,
    `Thank you for attending ${facts.title}.`,
    ...recording(facts),
  ])

export const missedMail = (facts: MailFacts): PlainMail =>
  mailOf(facts, `You missed: ${facts.title}`, [
    `Hello ${facts.name},`,
    `You had a seat in ${facts.title}, and we missed you.`,
    ...recording(facts),
  ])
