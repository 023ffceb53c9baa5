import type { z } from 'zod'
import { newId } from '../lib/ids.ts'
import { conflict, invalid, missing } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'
import { type Held, holdWebinar } from './webinars.find.ts'
import { linksOf } from './webinars.links.ts'
import { type Attendee, type MailApp, notify } from './webinars.notify.ts'
import { firstReminderAt } from './webinars.remind.ts'
import type { RegistrationBody, RegistrationResult } from './webinars.shapes.ts'

/*
 * Seats are given and freed under the webinar's lock, one change after the other: never more than its capacity, and nobody
 * waits while a seat is free. The counts, the mail and what starts journeys are written by the same transaction.
 */

export const hasFreeSeat = ({ capacity, registeredCount }: Held): boolean =>
  capacity === null || registeredCount < capacity

/** Throws Problem `conflict` where nobody can get a seat any more. */
export const demandOpen = ({ status }: Held): void => {
  if (status === 'ended') throw conflict('The webinar has ended')
  if (status === 'cancelled') throw conflict('The webinar was cancelled')
}

// The webinar is locked, and its numbers with it.
const inserting = `
  with counted as (
    update webinars set last_number = last_number + cardinality($3::text[]),
      registered_count = registered_count + cardinality(array_positions($6::text[], 'confirmed')),
      waitlisted_count = waitlisted_count + cardinality(array_positions($6::text[], 'waitlisted'))
    where account_id = $1 and id = $2 returning last_number - cardinality($3::text[]) as before
  )
  insert into webinar_registrations (account_id, id, webinar_id, email, name, status, number, remind_at, created_at, updated_at)
  select $1, r.id, $2, r.email, r.name, r.status, before + r.n, case when r.status = 'confirmed' then $7::timestamptz end, $8, $8
  from counted cross join unnest($3::text[], $4::text[], $5::text[], $6::text[]) with ordinality as r(id, email, name, status, n)`

/** Tells who may want to know of seats, then their attendees. */
const tellSeated = async (app: MailApp, work: Work, webinar: Held, attendees: readonly Attendee[]): Promise<void> => {
  const { id, title } = webinar
  // In the order in which contacts are locked.
  for (const { email } of attendees.toSorted((a, b) => (a.email < b.email ? -1 : 1)))
    for (const listener of work.listeners) await listener.attendeeRegistered?.(work, { webinar: { id, title }, email })
  await notify(app, work, webinar, 'registered', attendees)
}

interface Seated extends Attendee {
  status: RegistrationResult['status']
}

/**
 * Registers addresses in their order (api.md section 4, POST /webinars/{id}/register): each with a seat, else on the waitlist,
 * with the mail that says so. Who is registered already gets the state that it has, and no second mail; who has cancelled
 * registers anew. Throws Problem `missing`, `invalid` for a webinar without registration, `conflict` once it has ended.
 */
export const registerAttendees = async (
  app: MailApp,
  work: Work,
  webinarId: string,
  people: readonly z.output<typeof RegistrationBody>[],
): Promise<RegistrationResult[]> => {
  const { sql, accountId, now } = work
  const webinar = await holdWebinar(work, webinarId)
  if (webinar.accessMode !== 'registration') throw invalid('The webinar does not take registrations')
  demandOpen(webinar)
  const rows = await sql<Seated>(
    `select id, email, name, status from webinar_registrations
     where account_id = $1 and webinar_id = $2 and email = any($3) and status <> 'cancelled' and email <> ''`,
    [accountId, webinarId, people.map(({ email }) => email)],
    'registrations-of-emails',
  )
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
    const columns = (['id', 'email', 'name', 'status'] as const).map((column) => added.map((row) => row[column]))
    await sql(inserting, [accountId, webinarId, ...columns, firstReminderAt(webinar, now), now], 'register-attendees')
  }
  const of = (status: Seated['status']) => added.filter((registration) => registration.status === status)
  await tellSeated(app, work, webinar, of('confirmed'))
  await notify(app, work, webinar, 'waitlisted', of('waitlisted'))
  return people.map(({ email }) => {
    const { id, status } = known.get(email)!
    return { status, joinUrl: status === 'confirmed' ? linksOf(app, accountId, id).join : null }
  })
}

/** Gives the seat to one who waits, and changes `webinar` with it. */
const seat = async (app: MailApp, work: Work, webinar: Held, attendee: Attendee): Promise<void> => {
  const { sql, accountId, now } = work
  await sql(
    `with counted as (
       update webinars set registered_count = registered_count + 1, waitlisted_count = waitlisted_count - 1
       where account_id = $1 and id = $2
     )
     update webinar_registrations set status = 'confirmed', remind_at = $4, updated_at = $5 where account_id = $1 and id = $3`,
    [accountId, webinar.id, attendee.id, firstReminderAt(webinar, now), now],
  )
  webinar.registeredCount++
  webinar.waitlistedCount--
  await tellSeated(app, work, webinar, [attendee])
}

/** Those who wait, in their order. An erased person has no address that a seat could be told to. */
const firstInLine = async ({ sql, accountId }: Work, webinarId: string): Promise<Attendee | undefined> => {
  const [first] = await sql<Attendee>(
    `select id, email, name from webinar_registrations
     where account_id = $1 and webinar_id = $2 and status = 'waitlisted' and email <> '' order by number limit 1`,
    [accountId, webinarId],
  )
  return first
}

interface Registration extends Attendee {
  webinarId: string
  status: 'confirmed' | 'waitlisted' | 'cancelled'
}

/** A registration as it is under its webinar's lock; null where the account has none of that id. */
const holdRegistration = async (
  work: Work,
  id: string,
): Promise<{ webinar: Held; registration: Registration } | null> => {
  const { sql, accountId } = work
  const read = () =>
    sql<Registration>(
      'select id, webinar_id as "webinarId", email, name, status from webinar_registrations where account_id = $1 and id = $2',
      [accountId, id],
    )
  const [found] = await read()
  if (!found) return null
  const webinar = await holdWebinar(work, found.webinarId)
  const [registration] = await read()
  return { webinar, registration: registration! }
}

/**
 * Gives up a seat or a place on the waitlist, for good; a seat that is free by it goes to the first in line, who is told
 * so. Changes nothing where it was given up before, or where the session is over.
 */
export const cancelRegistration = async (app: MailApp, work: Work, id: string): Promise<void> => {
  const held = await holdRegistration(work, id)
  if (!held) return
  const { webinar, registration } = held
  const isOver = webinar.status === 'ended' || webinar.status === 'cancelled'
  if (isOver || registration.status === 'cancelled') return
  await work.sql(
    `with counted as (
       update webinars set registered_count = registered_count - case when $4 = 'confirmed' then 1 else 0 end,
         waitlisted_count = waitlisted_count - case when $4 = 'waitlisted' then 1 else 0 end
       where account_id = $1 and id = $2
     )
     update webinar_registrations set status = 'cancelled', remind_at = null, updated_at = $5 where account_id = $1 and id = $3`,
    [work.accountId, webinar.id, id, registration.status, work.now],
  )
  if (registration.status !== 'confirmed') return
  webinar.registeredCount--
  const next = hasFreeSeat(webinar) ? await firstInLine(work, webinar.id) : undefined
  if (next) await seat(app, work, webinar, next)
}

/**
 * Seats the named registration, else the first in line, even beyond the capacity (`svc webinars promote`), and gives its id.
 * Who has a seat keeps it, and hears nothing again. Throws Problem `missing`, `conflict` where nobody waits, the
 * registration was cancelled, or the session is over.
 */
export const promoteRegistration = async (
  app: MailApp,
  work: Work,
  webinarId: string,
  registrationId: string | null,
): Promise<string> => {
  const webinar = await holdWebinar(work, webinarId)
  demandOpen(webinar)
  const registration =
    registrationId === null ? undefined : (await holdRegistration(work, registrationId))?.registration
  if (registrationId !== null && registration?.webinarId !== webinarId)
    throw missing(`The webinar has no registration ${registrationId}`, {
      hint: `svc webinars registrations ${webinarId}`,
    })
  if (registration?.status === 'confirmed') return registration.id
  if (registration?.status === 'cancelled') throw conflict('The registration was cancelled')
  const next = registration ?? (await firstInLine(work, webinarId))
  if (!next) throw conflict('Nobody is on the waitlist')
  await seat(app, work, webinar, next)
  return next.id
}
