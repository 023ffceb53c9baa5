import { timelinePart } from '../contacts/contacts.ts'
import { subjectOf } from '../messages/messages.ts'

/**
 * What a person did with emails: opens, clicks and answers. Machines are left out, and bookings and purchases, which are entries of their
 * own.
 */
export const timeline = timelinePart(
  'interactions',
  `select i.at, case i.kind when 'open' then 'email.opened' when 'click' then 'email.clicked' else 'email.answered' end as kind,
     coalesce(${subjectOf({ account: 'i.account_id', id: 'i.message_id' })}, '') as title, i.message_id as id
   from interactions i
   where i.account_id = :accountId and i.email = :email and not i.is_bot and i.kind not in ('booking', 'purchase')`,
)
