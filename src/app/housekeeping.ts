import { finishListDeletions, purgeAccessLog, purgeImports, recheckDomains } from '../contacts/contacts.ts'
import { purgeDeliveries } from '../deliveries/deliveries.purge.ts'
import { purgeJourneys } from '../journeys/journeys.purge.ts'
import { singleLocks } from '../store/locks.ts'
import type { App } from '../store/work.ts'

const day = 86_400_000
/** Deliveries with their attempts, and the events behind them, are kept this long after they were made. */
const deliveryRetentionDays = 30

/** The same day so many months ago, or the last of that month where it has no such day. */
const monthsBefore = (at: Date, months: number): Date => {
  const before = new Date(at)
  before.setUTCMonth(at.getUTCMonth() - months)
  if (before.getUTCDate() !== at.getUTCDate()) before.setUTCDate(0)
  return before
}

/**
 * What keeps the database small and its verdicts fresh, in small batches. One daemon at a time; a crash loses nothing,
 * the next minute goes on.
 */
export const keepHouse = async (app: App, signal: AbortSignal): Promise<void> => {
  const guard = await app.database.connect()
  try {
    const { rows } = await guard.query('select pg_try_advisory_lock($1) as mine', [singleLocks.housekeeping])
    if (!rows[0].mine) return
    await finishListDeletions(app, signal)
    await recheckDomains(app, signal)
    const { journeyRetentionDays, accessLogRetentionMonths, importRetentionDays, rejectRetentionDays } = app.config
    const now = app.now()
    const daysBefore = (days: number) => new Date(now.getTime() - days * day)
    await purgeDeliveries(app, daysBefore(deliveryRetentionDays), signal)
    await purgeJourneys(app, daysBefore(journeyRetentionDays), signal)
    await purgeAccessLog(app, monthsBefore(now, accessLogRetentionMonths), signal)
    await purgeImports(app, daysBefore(importRetentionDays), daysBefore(rejectRetentionDays), signal)
    await app.sql(`delete from mail_domains where expires_at < $1`, [daysBefore(1)])
    await app.sql(`delete from rate_windows where started_at < now() - interval '1 hour'`)
  } finally {
    await guard.end()
  }
}
