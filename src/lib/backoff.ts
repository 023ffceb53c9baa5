const minutes = 60_000
const hours = 60 * minutes

/** The waits between the attempts of a webhook delivery, in ms (decisions.md, Webhooks and events). */
const intervals = [10_000, 1 * minutes, 5 * minutes, 15 * minutes, 1 * hours, 2 * hours, 4 * hours] as const

/** What a `Retry-After` asks for, in ms: spread upwards so that not all come back at once, and never beyond `capMs`. */
const askedMs = (seconds: number, random: number, capMs: number): number =>
  Math.min(seconds * 1000 * (1 + 0.2 * random), capMs)

/**
 * How many ms to wait after the `attemptsMade`-th failed attempt; null when no attempt is left. `random` in [0, 1)
 * spreads the interval by ±20 %. A `Retry-After` lengthens the wait, to twice the interval at most, and never shortens it.
 */
export const nextRetryMs = (attemptsMade: number, random: number, retryAfterSeconds = 0): number | null => {
  const interval = intervals[attemptsMade - 1]
  if (interval === undefined) return null
  return Math.round(Math.max(interval * (0.8 + 0.4 * random), askedMs(retryAfterSeconds, random, 2 * interval)))
}

const longestQuietMs = 1 * hours

/** How many ms an endpoint is left alone that asked for it by `Retry-After`: an hour at most. */
export const askedQuietMs = (retryAfterSeconds: number, random: number): number =>
  Math.round(askedMs(retryAfterSeconds, random, longestQuietMs))

const longestBackoffMs = 1 * minutes

/** How many ms an endpoint is left alone after so many time-outs in a row: nothing after the first, then 1 s and growing. */
export const timeoutBackoffMs = (timeouts: number, random: number): number =>
  timeouts < 2 ? 0 : Math.round(Math.min(1000 * 2 ** (timeouts - 2), longestBackoffMs) * (0.8 + 0.4 * random))
