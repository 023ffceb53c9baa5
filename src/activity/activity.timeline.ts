import { timelinePart } from '../contacts/contacts.ts'

/** The events that programs reported about an address. */
export const timeline = timelinePart(
  'activities',
  `select at, 'event.reported' as kind, name as title, id from activities where account_id = :accountId and email = :email`,
)
