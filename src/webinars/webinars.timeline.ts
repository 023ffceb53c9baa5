import { timelinePart } from '../contacts/contacts.ts'

// `offset 0` makes PostgreSQL look up the registrations by the address, whatever its statistics say.
/** The registrations of an address, and their cancellations. */
export const timeline = timelinePart(
  'registrations',
  `select e.at, e.kind, w.title, w.id
   from (
     select * from webinar_registrations where account_id = $1 and email = $2 offset 0
   ) r join webinars w on w.account_id = $1 and w.id = r.webinar_id
   cross join lateral (values
     (r.created_at, case r.status when 'waitlisted' then 'webinar.waitlisted' else 'webinar.registered' end),
     (case r.status when 'cancelled' then r.updated_at end, 'webinar.cancelled')
   ) as e(at, kind)
   where e.at is not null`,
)
