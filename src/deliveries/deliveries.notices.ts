import type { Work } from '../store/work.ts'

/*
 * Notices to the jobs on their channel. `+<microseconds> <account> <ids>`: these targets of the account have deliveries due since
 * that time. `-<ids>`: these targets have ended or changed. Anything else: search for due deliveries.
 */

/** The channel of the jobs that deliver. */
export const deliveriesChannel = 'svc_deliveries'

/** Number of ids that fit in one notice: PostgreSQL allows 8,000 bytes. */
const idsPerNotice = 200

/** Returns distinct ids as the payloads of notices, with as many ids as fit in each. */
export const noticesOf = (ids: readonly string[]): string[] => {
  const distinct = [...new Set(ids)]
  return Array.from({ length: Math.ceil(distinct.length / idsPerNotice) }, (_, i) =>
    distinct.slice(i * idsPerNotice, (i + 1) * idsPerNotice).join(' '),
  )
}

/**
 * Notifies the jobs that the targets have ended, or have another secret or URL. The jobs give back the claims that wait for them,
 * and cancel the deliveries of those that have ended.
 */
export const announceTargetsChanged = ({ announce }: Pick<Work, 'announce'>, ids: readonly string[]): void => {
  for (const notice of noticesOf(ids)) announce(deliveriesChannel, `-${notice}`)
}

type Notice = { since: number; accountId: string; ids: string[] } | { changed: string[] } | null

/** Parses a notice, whose `since` is in microseconds since the epoch. Returns null for a notice that names nothing. */
export const readNotice = (payload: string): Notice => {
  const words = payload.slice(1).split(' ')
  if (payload.startsWith('-')) return { changed: words }
  const [since, accountId, ...ids] = words
  return payload.startsWith('+') && accountId ? { since: Number(since), accountId, ids } : null
}
