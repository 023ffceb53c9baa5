/**
 * Returns the SQL expression of the sender that a choice means at this moment, as JSON `{ email, name, replyTo }`. The choice is
 * an id or an address, or null for the default. It is null if there is no such sender.
 */
export const senderShown = (account: string, choice: string): string => `coalesce((
  select json_build_object('email', s.email, 'name', s.name, 'replyTo', s.reply_to) from senders s
  where s.account_id = ${account} and case when ${choice} is null then s.is_default else ${choice} in (s.id, s.email) end limit 1
), case when ${choice} like '%@%' then json_build_object('email', ${choice}, 'name', '', 'replyTo', null) end)`
