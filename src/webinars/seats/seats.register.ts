import type { z } from 'zod'
import { takeEmbedUnits } from '../../accounts/accounts.ts'
import { coalesceCalls } from '../../lib/coalesce.ts'
import { newId } from '../../lib/ids.ts'
import { invalid } from '../../lib/problem.ts'
import { type RowOf, typed } from '../../store/column-types.ts'
import { isSharedFailure } from '../../store/database.ts'
import { preparedStatement } from '../../store/statement.ts'
import { types } from '../../store/tables.ts'
import type { App, Work } from '../../store/work.ts'
import { linksOf, type MailApp, notifyAttendees } from '../emails/emails.ts'
import { firstReminderAt } from '../reminders/reminders.schedule.ts'
import { lockWebinar } from '../sessions/sessions.find.ts'
import type { RegistrationBody, RegistrationResult } from '../sessions/sessions.shapes.ts'
import { webinarRegistrations } from '../webinars.columns.ts'
import { hasFreeSeat, publishSeats, requireOpen } from './places.ts'

type Person = z.output<typeof RegistrationBody>

const seatedTypes = {
  ...types(webinarRegistrations, 'id', 'email', 'name'),
  status: typed<RegistrationResult['status']>('text'),
} as const
type Seated = RowOf<typeof seatedTypes>

const readRegistrations = preparedStatement(
  'registrations-of-emails',
  { row: seatedTypes, parameters: { accountId: 'text', webinarId: 'text', emails: '_text' } },
  `select id, email, name, status from webinar_registrations
   where account_id = :accountId and webinar_id = :webinarId and email = any(:emails)
     and status <> 'cancelled' and email <> ''`,
)

// Requires the webinar's lock, which also protects its numbers.
const insertRegistrations = preparedStatement(
  'register-attendees',
  {
    parameters: {
      accountId: 'text',
      webinarId: 'text',
      ids: '_text',
      emails: '_text',
      names: '_text',
      statuses: '_text',
      remindAt: 'timestamptz?',
      now: 'timestamptz',
    },
  },
  `with counted as (
     update webinars set last_number = last_number + cardinality(:ids::text[]),
       registered_count = registered_count + cardinality(array_positions(:statuses::text[], 'confirmed')),
       waitlisted_count = waitlisted_count + cardinality(array_positions(:statuses::text[], 'waitlisted'))
     where account_id = :accountId and id = :webinarId returning last_number - cardinality(:ids::text[]) as before
   )
   insert into webinar_registrations
     (account_id, id, webinar_id, email, name, status, number, remind_at, created_at, updated_at)
   select :accountId, r.id, :webinarId, r.email, r.name, r.status, before + r.n,
     case when r.status = 'confirmed' then :remindAt::timestamptz end, :now, :now
   from counted
   cross join unnest(:ids::text[], :emails::text[], :names::text[], :statuses::text[]) with ordinality as r(id, email, name, status, n)`,
)

/**
 * Registers addresses in order (docs/reference/api.md#post-webinarsidregister). Each gets a seat or a place on the waitlist, and an
 * email. A registered address keeps its state and gets no second email; a cancelled one gets a new registration. Throws Problem
 * `not_found`, `invalid` for a webinar without registration, `conflict` if it has ended or was cancelled.
 */
export const registerAttendees = async (
  app: MailApp,
  work: Work,
  webinarId: string,
  people: readonly Person[],
): Promise<RegistrationResult[]> => {
  const { sql, accountId, now } = work
  const webinar = await lockWebinar(work, webinarId)
  if (webinar.accessMode !== 'registration') throw invalid('The webinar does not take registrations')
  requireOpen(webinar)
  const rows = await sql(readRegistrations, { accountId, webinarId, emails: people.map(({ email }) => email) })
  const known = new Map(rows.map((row) => [row.email, row]))
  const added: Seated[] = []
  for (const { email, name } of people) {
    if (known.has(email)) continue
    const status = hasFreeSeat(webinar) ? 'confirmed' : 'waitlisted'
    if (status === 'confirmed') webinar.registeredCount++
    const registration: Seated = { id: newId('reg', now.getTime()), email, name, status }
    known.set(email, registration)
    added.push(registration)
  }
  if (added.length > 0) {
    await sql(insertRegistrations, {
      accountId,
      webinarId,
      ids: added.map(({ id }) => id),
      emails: added.map(({ email }) => email),
      names: added.map(({ name }) => name),
      statuses: added.map(({ status }) => status),
      remindAt: firstReminderAt(webinar, now),
      now,
    })
  }
  const of = (status: Seated['status']) => added.filter((registration) => registration.status === status)
  await publishSeats(app, work, webinar, of('confirmed'))
  await notifyAttendees(app, work, webinar, 'waitlisted', of('waitlisted'))
  return people.map(({ email }) => {
    const { id, status } = known.get(email)!
    return { status, joinUrl: status === 'confirmed' ? linksOf(app, accountId, id).join : null }
  })
}

interface Target {
  app: App
  accountId: string
  actor: string
  webinarId: string
}

const maxBatch = 50

const registerAll = coalesceCalls(
  maxBatch,
  ({ app, accountId, actor, webinarId }: Target, people: readonly Person[]): Promise<RegistrationResult[]> =>
    app.work(accountId, actor, async (work) => {
      const registered = await registerAttendees(app, work, webinarId, people)
      await takeEmbedUnits(work, people.length)
      return registered
    }),
  { isShared: isSharedFailure },
)

/**
 * Registers one person for a call of the Embed API and counts the call. Concurrent calls for a webinar share a unit of work: they
 * would wait for each other's commit anyway, at the webinar's lock. Throws like `registerAttendees`, and Problem `limited` if the
 * quota is used up.
 */
export const registerAttendee = (
  app: App,
  accountId: string,
  actor: string,
  webinarId: string,
  person: Person,
): Promise<RegistrationResult> =>
  registerAll({ app, accountId, actor, webinarId }, app.database, `${accountId} ${webinarId}`, person)
