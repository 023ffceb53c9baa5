/*
 * What the jobs are told on their channel. `+<microseconds> <account> <ids>`: since that time there is something for these
 * targets of the account. `-<ids>`: these targets have ended or changed. Anything else: look at what is due.
 */

export type Notice = { since: number; accountId: string; ids: string[] } | { changed: string[] } | null

/** `since` in microseconds since the epoch; null for a notice that names nothing. */
export const readNotice = (payload: string): Notice => {
  const words = payload.slice(1).split(' ')
  if (payload.startsWith('-')) return { changed: words }
  const [since, accountId, ...ids] = words
  return payload.startsWith('+') && accountId ? { since: Number(since), accountId, ids } : null
}
