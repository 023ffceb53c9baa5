import { expect } from 'vitest'
import type { TestApp } from '../support/app.ts'
import type { EngagedAccount } from '../support/engagement.ts'

/** A Monday in November: Berlin is an hour ahead of UTC. */
export const monday = Date.parse('2026-11-23T06:00Z')
export const at = (text: string) => Date.parse(text)

/** Weekdays from nine to eleven in Berlin, half an hour each, for a week. */
export const bookingProps = {
  title: 'A call, {{ name }}',
  durationMinutes: 30,
  timezone: 'Europe/Berlin',
  availability: [1, 2, 3, 4, 5].map((day) => ({ day, from: '09:00', to: '11:00' })),
  days: 7,
}

export const bookingProject = (props: object = {}, more: object[] = []) => ({
  name: 'Calls',
  blocks: [{ id: 'call', type: 'booking', props: { ...bookingProps, ...props } }, ...more],
})

/** The free times of the booking block that comes first. */
export const slotsIn = ({ blocks }: { blocks: object[] }): number[] =>
  (blocks[0] as { props: { slots: number[] } }).props.slots

/** Start times of a day in Berlin, in November. */
export const nine = at('2026-11-23T08:00Z')
export const halfPastNine = at('2026-11-23T08:30Z')
export const ten = at('2026-11-23T09:00Z')

export interface BookingMailRow {
  to: string
  subject: string
  text: string
  html: string
  calendar: string | null
  status: string
  error: string | null
}

/** The emails about bookings in the outbox, oldest first for each booking. */
export const bookingMails = (t: TestApp, accountId: string) =>
  t.app.sql<BookingMailRow>(
    `select email as "to", subject, text, html, calendar, status, error from messages
     where account_id = $1 and key like 'booking:%' order by key`,
    [accountId],
  )

/** The value of a property in an iCalendar text, unfolded. */
export const entryOf = (calendar: string | null, name: string): string | undefined =>
  new RegExp(`^${name}[:;](.*)$`, 'm').exec((calendar ?? '').replaceAll('\r', '').replace(/\n[ \t]/g, ''))?.[1]

export const bookingsOf = (t: TestApp, accountId: string) =>
  t.app.sql<{ id: string; status: string; startAt: Date; name: string; email: string }>(
    'select id, status, start_at as "startAt", name, email from bookings where account_id = $1 order by email, created_at',
    [accountId],
  )

/** The path of the cancellation link in an email. */
export const cancelPath = (mail: BookingMailRow): string => {
  const [, path] = /https:\/\/svc\.example(\/b\/\S+)/.exec(mail.text) ?? []
  expect(path).toBeDefined()
  return path!
}

/** The `booking.*` events and the interactions of kind `booking`, oldest first. */
export const bookingEvents = async (t: TestApp, account: EngagedAccount) =>
  (await t.events(account.id))
    .filter(
      ({ type, data }) => type.startsWith('booking.') || ('interaction' in data && data.interaction.kind === 'booking'),
    )
    .sort((a, b) => a.createdAt - b.createdAt || a.type.localeCompare(b.type))
