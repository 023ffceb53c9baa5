import { timelinePart } from '../contacts/contacts.ts'

/** The bookings of an address, and their cancellations. */
export const timeline = timelinePart(
  'bookings',
  `select e.at, e.kind, b.title, b.id from bookings b
   cross join lateral (values (b.created_at, 'booking.created'), (b.cancelled_at, 'booking.cancelled')) as e(at, kind)
   where b.account_id = :accountId and b.email = :email and e.at is not null`,
)
