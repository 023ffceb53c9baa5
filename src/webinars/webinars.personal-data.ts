import { epochMs } from '../store/epoch-ms.ts'
import { statement } from '../store/statement.ts'
import type { Listener, PersonalDataPart } from '../store/work.ts'
import { firstSeen, lastSeen, minutesSeen } from './attendance/attendees.ts'

const readRegistrations = statement(
  'registrations-of-email',
  {
    row: {
      id: 'text',
      webinarId: 'text',
      title: 'text',
      name: 'text',
      status: 'text',
      createdAt: 'int8',
      updatedAt: 'int8',
      attended: 'bool?',
      firstSeenAt: 'int8?',
      lastSeenAt: 'int8?',
      minutes: 'int4?',
    },
    parameters: { accountId: 'text', email: 'text' },
  },
  `select r.id, r.webinar_id as "webinarId", w.title, r.name, r.status, ${epochMs('r.created_at')} as "createdAt",
     ${epochMs('r.updated_at')} as "updatedAt", r.attended, ${epochMs(firstSeen('r'))} as "firstSeenAt",
     ${epochMs(lastSeen('r'))} as "lastSeenAt", ${minutesSeen('r')} as minutes
   from webinar_registrations r join webinars w on w.account_id = r.account_id and w.id = r.webinar_id
   where r.account_id = :accountId and r.email = :email order by r.id`,
)

/** An address's registrations. Erasing the address removes it and the name from them. */
export const personalData: readonly PersonalDataPart[] = [
  { name: 'registrations', read: ({ sql, accountId }, email) => sql(readRegistrations, { accountId, email }) },
]

// Locks webinars before registrations, like every change of seats.
const lockWebinarsOf = statement(
  'lock-webinars-of-email',
  { parameters: { accountId: 'text', email: 'text' } },
  `select from webinars where account_id = :accountId and id in (
     select webinar_id from webinar_registrations where account_id = :accountId and email = :email
   ) order by id for no key update`,
)

const eraseRegistrations = statement(
  'erase-registrations',
  { parameters: { accountId: 'text', email: 'text' } },
  `with waiting as (
     select webinar_id as id, count(*) from webinar_registrations
     where account_id = :accountId and email = :email and status = 'waitlisted' group by webinar_id
   ), counted as (
     update webinars w set waitlisted_count = w.waitlisted_count - waiting.count
     from waiting where w.account_id = :accountId and w.id = waiting.id
   )
   update webinar_registrations set email = '', name = '', remind_at = null, seen = null,
     status = case when status = 'waitlisted' then 'cancelled' else status end
   where account_id = :accountId and email = :email`,
)

/**
 * Removes an erased person from registrations and waitlists. A seat stays taken, without a name, until `svc webinars free` gives it
 * to the next person on the waitlist.
 */
export const forgetAttendees: Listener = {
  async contactsRemoved({ sql, accountId }, { listId, email }) {
    if (listId !== undefined || email === undefined) return
    await sql(lockWebinarsOf, { accountId, email })
    await sql(eraseRegistrations, { accountId, email })
  },
}
