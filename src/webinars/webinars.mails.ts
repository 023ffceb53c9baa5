import { type PlainMail, plainMail } from '../lifecycle/lifecycle.ts'
import type { Links } from './webinars.links.ts'

/** What the mails of a webinar say. */
export interface MailFacts {
  name: string
  title: string
  scheduledAt: Date | null
  links: Links
}

const utc = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'short', timeZone: 'UTC' })

/** `Monday, 23 November 2026 at 14:00 UTC` */
export const timeText = (time: Date): string => `${utc.format(time)} UTC`

const when = ({ scheduledAt }: MailFacts, verb: string): string[] =>
  scheduledAt ? [`It ${verb} on ${timeText(scheduledAt)}.`] : []

const calendar = ({ scheduledAt, links }: MailFacts) =>
  scheduledAt ? [{ label: 'Add it to your calendar', url: links.calendar }] : []

/** Somebody has a seat: at once, or from the waitlist. */
export const confirmationMail = (facts: MailFacts): PlainMail =>
  plainMail(`You are registered: ${facts.title}`, [
    `Hello ${facts.name},`,
    `You have a seat in ${facts.title}.`,
    ...when(facts, 'begins'),
    { label: 'Join here', url: facts.links.join },
    ...calendar(facts),
    { label: 'Can’t come? Give your seat to somebody else', url: facts.links.cancel },
  ])

export const waitlistMail = (facts: MailFacts): PlainMail =>
  plainMail(`You are on the waitlist: ${facts.title}`, [
    `Hello ${facts.name},`,
    `All seats in ${facts.title} are taken. You are on the waitlist: as soon as a seat is free for you, a mail tells you so.`,
    ...when(facts, 'begins'),
    { label: 'Leave the waitlist', url: facts.links.cancel },
  ])

export const reminderMail = (facts: MailFacts): PlainMail =>
  plainMail(`Reminder: ${facts.title}`, [
    `Hello ${facts.name},`,
    `You have a seat in ${facts.title}.`,
    ...when(facts, 'begins'),
    { label: 'Join here', url: facts.links.join },
    ...calendar(facts),
    { label: 'Can’t come? Give your seat to somebody else', url: facts.links.cancel },
  ])

export const cancellationMail = (facts: Omit<MailFacts, 'links'>): PlainMail =>
  plainMail(`Cancelled: ${facts.title}`, [
    `Hello ${facts.name},`,
    facts.scheduledAt
      ? `${facts.title}, planned for ${timeText(facts.scheduledAt)}, has been cancelled.`
      : `${facts.title} has been cancelled.`,
  ])
