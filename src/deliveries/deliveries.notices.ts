import type { Sql } from '../store/database.ts'
import { statement } from '../store/statement.ts'

/*
 * Notices to the jobs on their channel. `+<microseconds> <account> <ids>`: these targets of the account have deliveries due since
 * that time. `-<ids>`: these targets have ended or changed. Anything else: search for due deliveries.
 */

/** The channel of the jobs that deliver. */
export const deliveriesChannel = 'svc_deliveries'

/** Number of ids that fit in one notice: PostgreSQL allows 8,000 bytes. */
const idsPerNotice = 200

/** Returns ids as the payloads of notices, with as many ids as fit in each. */
export const noticesOf = (ids: readonly string[]): string[] =>
  Array.from({ length: Math.ceil(ids.length / idsPerNotice) }, (_, i) =>
    ids.slice(i * idsPerNotice, (i + 1) * idsPerNotice).join(' '),
  )

const notifyOfTargets = statement<{ pg_notify: '' }>(
  'notify-of-targets',
  { pg_notify: 'void' },
  `select pg_notify('${deliveriesChannel}', '-' || n.ids) from unnest($1::text[]) as n(ids)`,
)

/**
 * Notifies the jobs that the targets have ended, or have another secret or URL. The jobs give back the claims that wait for them,
 * and cancel the deliveries of those that have ended.
 */
export const notifyTargetsChanged = async (sql: Sql, ids: readonly string[]): Promise<void> => {
  await sql(notifyOfTargets, [noticesOf(ids)])
}

type Notice = { since: number; accountId: string; ids: string[] } | { changed: string[] } | null

/** Parses a notice. `since` in microseconds since the epoch; null for a notice that names nothing. */
export const readNotice = (payload: string): Notice => {
  const words = payload.slice(1).split(' ')
  if (payload.startsWith('-')) return { changed: words }
  const [since, accountId, ...ids] = words
  return payload.startsWith('+') && accountId ? { since: Number(since), accountId, ids } : null
}
