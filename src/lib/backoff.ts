const minutes = 60_000
const hours = 60 * minutes

/** The waits between the attempts of a webhook delivery or of a queued message, in ms (docs/reference/events.md#retries). */
const intervals = [10_000, 1 * minutes, 5 * minutes, 15 * minutes, 1 * hours, 2 * hours, 4 * hours] as const

/** Converts a `Retry-After` to ms: adds up to 20 % of jitter, so that retries don't arrive at once, and caps the result. */
const retryAfterMs = (seconds: number, random: number, capMs: number): number =>
  Math.min(seconds * 1000 * (1 + 0.2 * random), capMs)

/**
 * Returns the ms to wait after the `attemptsMade`-th failed attempt, or null if no attempt is left. `random` in [0, 1)
 * varies the interval by ±20 %. A `Retry-After` can lengthen the wait, to at most twice the interval, but not shorten it.
 */
export const nextRetryMs = (attemptsMade: number, random: number, retryAfterSeconds = 0): number | null => {
  const interval = intervals[attemptsMade - 1]
  if (interval === undefined) return null
  return Math.round(Math.max(interval * (0.8 + 0.4 * random), retryAfterMs(retryAfterSeconds, random, 2 * interval)))
}

const maxQuietMs = 1 * hours

/** Returns the ms for which an endpoint that sent `Retry-After` gets no deliveries: at most an hour. */
export const askedQuietMs = (retryAfterSeconds: number, random: number): number =>
  Math.round(retryAfterMs(retryAfterSeconds, random, maxQuietMs))

const maxBackoffMs = 1 * minutes

/** Returns the ms for which an endpoint gets no deliveries after consecutive timeouts: 0 after the first, then 1 s, doubling up to a minute. */
export const timeoutBackoffMs = (timeouts: number, random: number): number =>
  timeouts < 2 ? 0 : Math.round(Math.min(1000 * 2 ** (timeouts - 2), maxBackoffMs) * (0.8 + 0.4 * random))
