import { type PlainMail, plainMail } from '../pages/plain-mail.ts'
import type { Links } from './webinars.links.ts'

/** The content of a webinar's emails. */
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
  scheduledAt ? [{ label: 'Add to your calendar', url: links.calendar }] : []

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
      ? `${facts.title}, planned for ${timeText(facts.scheduledAt)}, has been cancelled.`
      : `${facts.title} has been cancelled.`,
  ])
