/** Returns the SQL expression of the addresses of an account's senders, as an array. */
export const addressesOf = (account: string): string =>
  `array(select s.email from senders s where s.account_id = ${account})`

/**
 * Returns the SQL query of the sealed DKIM key (`sealed_key`) of an account's verified domain. It has no row if there is none.
 */
export const keyOfDomain = (account: string, domain: string): string =>
  `select sealed_key from domains where account_id = ${account} and domain = ${domain} and status = 'verified' limit 1`

/**
 * Returns the SQL expression of the sender that a choice means at this moment, as JSON `{ email, name, replyTo }`. The choice is
 * an id or an address, or null for the default. It is null if there is no such sender.
 */
export const senderShown = (account: string, choice: string): string => `coalesce((
  select json_build_object('email', s.email, 'name', s.name, 'replyTo', s.reply_to) from senders s
  where s.account_id = ${account} and case when ${choice} is null then s.is_default else ${choice} in (s.id, s.email) end limit 1
), case when ${choice} like '%@%' then json_build_object('email', ${choice}, 'name', '', 'replyTo', null) end)`
