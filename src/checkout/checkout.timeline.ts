import { timelinePart } from '../contacts/contacts.ts'

/** The orders of an address, and their payments. */
export const timeline = timelinePart(
  'orders',
  `select e.at, e.kind, o.amount || ' ' || o.currency || coalesce(': ' || (
     select string_agg(item ->> 'name', ', ' order by place) from jsonb_array_elements(o.items) with ordinality as i(item, place)
   ), '') as title, o.id
   from payment_orders o
   cross join lateral (values (o.created_at, 'order.created'), (o.paid_at, 'order.paid')) as e(at, kind)
   where o.account_id = :accountId and o.email = :email and e.at is not null`,
)
