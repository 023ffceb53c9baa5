import { invalidReason, pendingReason } from '../contacts/contacts.rows.ts'

/**
 * Returns the SQL expression of the reason why an address gets no email of a type and a topic, if there is one. It is null if it
 * does (docs/reference/mail.md#suppression). If there are several reasons, it is the most severe one. The reason `pending` needs
 * a contact: an address in no list is not pending.
 */
export const suppressedReason = (account: string, email: string, type: string, topic: string): string => `coalesce(
  (select s.reason from suppressions s where s.account_id = ${account} and s.email = ${email} and s.reason <> 'unsubscribed'
   order by array_position(array['complained', 'bounced', 'manual'], s.reason) limit 1),
  ${invalidReason(account, email)},
  case when ${type} = 'marketing' then coalesce(
    (select s.reason from suppressions s
     where s.account_id = ${account} and s.email = ${email} and s.reason = 'unsubscribed'
       and s.topic_id in ('', coalesce(${topic}, '')) limit 1),
    ${pendingReason(account, email)}
  ) end
)`

/** Returns the SQL condition that the account has the topic. A deleted topic stays for a while without being one. */
export const isTopic = (account: string, id: string): string =>
  `exists (select from topics where account_id = ${account} and id = ${id} and deleted_at is null)`

/**
 * Returns the SQL query of the addresses that get no marketing of a topic, as `email`. The topic is empty for marketing without
 * one.
 */
export const leftOf = (account: string, topic: string): string =>
  `select email from suppressions where account_id = ${account} and topic_id in ('', ${topic})`
