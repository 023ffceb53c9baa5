/** SQL from item: `id`, `email` (empty: erased) and `status` of the message of `account` with a key; none if there is no such message. */
export const messageOfKey = (account: string, key: string): string =>
  `(select id, email, status from messages where account_id = ${account} and key = ${key} limit 1)`
