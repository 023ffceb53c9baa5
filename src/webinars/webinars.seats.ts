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
    update webinars set last_number = last_number + 1,
      registered_count = registered_count + case when $6 = 'confirmed' then 1 else 0 end,
      waitlisted_count = waitlisted_count + case when $6 = 'waitlisted' then 1 else 0 end
    where account_id = $1 and id = $2 returning last_number
  )
  insert into webinar_registrations (account_id, id, webinar_id, email, name, status, number, remind_at, created_at, updated_at)
  select $1, $3, $2, $4, $5, $6, last_number, $7, $8, $8 from counted`

/** Tells who may want to know of a seat, then its attendee. */
const tellSeated = async (app: MailApp, work: Work, webinar: Held, attendee: Attendee): Promise<void> => {
  const { id, title } = webinar
  const registered = { webinar: { id, title }, email: attendee.email }
  for (const listener of work.listeners) await listener.attendeeRegistered?.(work, registered)
  await notify(app, work, webinar, 'registered', [attendee])
}

/**
 * Registers an address (api.md section 4, POST /webinars/{id}/register): with a seat, else on the waitlist, with the mail that
 * says so. Who is registered already gets the state that it has, and no second mail; who has cancelled registers anew.
 * Throws Problem `missing`, `invalid` for a webinar without registration, `conflict` once it has ended.
 */
export const registerAttendee = async (
  app: MailApp,
  work: Work,
  webinarId: string,
  { email, name }: z.output<typeof RegistrationBody>,
): Promise<RegistrationResult> => {
  const { sql, accountId, now } = work
  const webinar = await holdWebinar(work, webinarId)
  if (webinar.accessMode !== 'registration') throw invalid('The webinar does not take registrations')
  demandOpen(webinar)
  const resultOf = ({ id, status }: { id: string; status: RegistrationResult['status'] }): RegistrationResult => ({
    status,
    joinUrl: status === 'confirmed' ? linksOf(app, accountId, id).join : null,
  })
  const [known] = await sql<{ id: string; status: RegistrationResult['status'] }>(
    `select id, status from webinar_registrations
     where account_id = $1 and webinar_id = $2 and email = $3 and status <> 'cancelled' and email <> ''`,
    [accountId, webinarId, email],
    'registration-of-email',
  )
  if (known) return resultOf(known)
  const status = hasFreeSeat(webinar) ? 'confirmed' : 'waitlisted'
  const remindAt = status === 'confirmed' ? firstReminderAt(webinar, now) : null
  const id = newId('reg', now.getTime())
  await sql(inserting, [accountId, webinarId, id, email, name, status, remindAt, now], 'register-attendee')
  const attendee = { id, email, name }
  if (status === 'confirmed') await tellSeated(app, work, webinar, attendee)
  else await notify(app, work, webinar, 'waitlisted', [attendee])
  return resultOf({ id, status })
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
  await tellSeated(app, work, webinar, attendee)
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
