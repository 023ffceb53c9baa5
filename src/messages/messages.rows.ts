/**
 * Returns the SQL from item of the message of `account` with a key: `id`, `email`, which is empty if it was erased, and `status`.
 * It has no row if there is no such message.
 */
export const messageOfKey = (account: string, key: string): string =>
  `(select id, email, status from messages where account_id = ${account} and key = ${key} limit 1)`
