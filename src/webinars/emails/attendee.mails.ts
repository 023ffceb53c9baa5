import { type PlainMail, plainMail } from '../../pages/plain-mail.ts'
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
  timezone: string | null
  links: Links
  /** The recording. */
  replayUrl?: string | null
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** `Monday, 23 November 2026 at 14:00 UTC`, or `… at 15:00 (Europe/Berlin)` in a time zone. */
export const timeText = (time: Date, timezone: string | null): string => {
  const timeZone = timezone ?? 'UTC'
  const format = formats.getOrInsertComputed(
    timeZone,
    () => new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'short', timeZone }),
  )
  return `${format.format(time)} ${timeZone === 'UTC' ? 'UTC' : `(${timeZone})`}`
}

const when = ({ scheduledAt, timezone }: MailFacts, verb: string): string[] =>
  scheduledAt ? [`It ${verb} on ${timeText(scheduledAt, timezone)}.`] : []

const calendar = ({ scheduledAt, links }: MailFacts) =>
  scheduledAt ? [{ label: 'Add to your calendar', url: links.calendar }] : []

/** The beginning of an email about a new time. */
const movedParts = (facts: MailFacts): string[] => [
  `Hello ${facts.name},`,
  `${facts.title} has a new time.`,
  ...when(facts, 'begins'),
]

/** For a person with a seat. The calendar entry is attached. */
export const movedMail = (facts: MailFacts): PlainMail =>
  plainMail(`New time: ${facts.title}`, [
    ...movedParts(facts),
    'You keep your seat. The attached file updates your calendar.',
    { label: 'Join the session', url: facts.links.join, button: true },
    { label: 'Can’t come? Cancel my registration', url: facts.links.cancel },
  ])

/** For a person on the waitlist, who has no link to join and no calendar entry. */
export const movedWaitlistMail = (facts: MailFacts): PlainMail =>
  plainMail(`New time: ${facts.title}`, [
    ...movedParts(facts),
    'You keep your place on the waitlist.',
    { label: 'Leave the waitlist', url: facts.links.leave },
  ])

/** For a person who got a seat, directly or from the waitlist. */
export const confirmationMail = (facts: MailFacts): PlainMail =>
  plainMail(`You are registered: ${facts.title}`, [
    `Hello ${facts.name},`,
    `You have a seat in ${facts.title}.`,
    ...when(facts, 'begins'),
    { label: 'Join the session', url: facts.links.join, button: true },
    ...calendar(facts),
    { label: 'Can’t come? Cancel my registration', url: facts.links.cancel },
  ])

export const waitlistMail = (facts: MailFacts): PlainMail =>
  plainMail(`You are on the waitlist: ${facts.title}`, [
    `Hello ${facts.name},`,
    `All seats in ${facts.title} are taken. You are on the waitlist: we’ll email you when a seat is free.`,
    ...when(facts, 'begins'),
    { label: 'Leave the waitlist', url: facts.links.leave },
  ])

export const reminderMail = (facts: MailFacts): PlainMail =>
  plainMail(`Reminder: ${facts.title}`, [
    `Hello ${facts.name},`,
    `You have a seat in ${facts.title}.`,
    ...when(facts, 'begins'),
    { label: 'Join the session', url: facts.links.join, button: true },
    ...calendar(facts),
    { label: 'Can’t come? Cancel my registration', url: facts.links.cancel },
  ])

export const cancellationMail = (facts: Omit<MailFacts, 'links'>): PlainMail =>
  plainMail(`Cancelled: ${facts.title}`, [
    `Hello ${facts.name},`,
    facts.scheduledAt
      ? `${facts.title}, planned for ${timeText(facts.scheduledAt, facts.timezone)}, has been cancelled.`
      : `${facts.title} has been cancelled.`,
  ])

/** For a person who has cancelled their seat. */
export const leftMail = (facts: MailFacts): PlainMail =>
  plainMail(`Registration cancelled: ${facts.title}`, [
    `Hello ${facts.name},`,
    `You have cancelled your registration for ${facts.title}. The attached file removes it from your calendar.`,
  ])

const recording = ({ replayUrl, links }: MailFacts) =>
  replayUrl ? [{ label: 'Watch the recording', url: links.join, button: true as const }] : []

export const attendedMail = (facts: MailFacts): PlainMail =>
  plainMail(`Thank you for attending: ${facts.title}`, [
    `Hello ${facts.name},`,
    `Thank you for attending ${facts.title}.`,
    ...recording(facts),
  ])

export const missedMail = (facts: MailFacts): PlainMail =>
  plainMail(`You missed: ${facts.title}`, [
    `Hello ${facts.name},`,
    `You had a seat in ${facts.title}, and we missed you.`,
    ...recording(facts),
  ])
