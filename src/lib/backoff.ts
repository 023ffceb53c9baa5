const minutes = 60_000
const hours = 60 * minutes

/** The waits between the attempts of a webhook delivery, in ms (decisions.md, Webhooks and events). */
const intervals = [10_000, 1 * minutes, 5 * minutes, 15 * minutes, 1 * hours, 2 * hours, 4 * hours] as const

/** How often a delivery is tried in all; then it is exhausted. */
export const maxAttempts = intervals.length + 1

/**
 * How many ms to wait after the `attemptsMade`-th failed attempt; null when no attempt is left. `random` in [0, 1)
 * spreads the interval by ±20 %. A `Retry-After` lengthens the wait, to twice the interval at most, and never shortens it.
 */
export const nextRetryMs = (attemptsMade: number, random: number, retryAfterSeconds = 0): number | null => {
  const interval = intervals[attemptsMade - 1]
  if (interval === undefined) return null
  const asked = Math.min(retryAfterSeconds * 1000, 2 * interval)
  return Math.round(Math.max(interval * (0.8 + 0.4 * random), asked))
}
