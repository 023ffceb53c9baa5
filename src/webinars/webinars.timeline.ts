import { timelinePart } from '../contacts/contacts.ts'
import { firstSeen, minutesSeen } from './attendance/attendees.ts'

// `offset 0` makes PostgreSQL look up the registrations by the address, whatever its statistics say.
/** The registrations of an address, their cancellations, and whether the person attended. */
export const timeline = timelinePart(
  'registrations',
  `select e.at, e.kind, w.title || e.length as title, w.id
   from (
     select * from webinar_registrations where account_id = :accountId and email = :email offset 0
   ) r join webinars w on w.account_id = :accountId and w.id = r.webinar_id
   cross join lateral (values
     (r.created_at, case r.status when 'waitlisted' then 'webinar.waitlisted' else 'webinar.registered' end, ''),
     (case r.status when 'cancelled' then r.updated_at end, 'webinar.cancelled', ''),
     (case when r.attended then ${firstSeen('r')} end, 'webinar.attended',
       ', ' || ${minutesSeen('r')} || case ${minutesSeen('r')} when 1 then ' minute' else ' minutes' end),
     (case when not r.attended then w.ended_at end, 'webinar.missed', '')
   ) as e(at, kind, length)
   where e.at is not null`,
)
