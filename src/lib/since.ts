import { midnightOf } from './days.ts'
import { invalid, shown } from './problem.ts'

const unitMs: Record<string, number> = { w: 604_800_000, d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000 }
const parts = /^(?:(\d{1,6})w)?(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?$/
const isoTime = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?$/

/**
 * Returns the ms of a duration: a number with a unit (`30s`, `30m`, `2h`, `2d`, `1w`), or several with the larger unit first
 * (`1h30m`). Returns null if the text is no duration.
 */
export const durationOf = (text: string): number | null => {
  const amounts = text === '' ? null : parts.exec(text)
  return amounts && Object.values(unitMs).reduce((sum, ms, i) => sum + Number(amounts[i + 1] ?? 0) * ms, 0)
}

/** Returns the ms of a duration, such as `1h30m`. Throws Problem `invalid`. */
export const parseDuration = (text: string): number => {
  const ms = durationOf(text)
  if (ms === null) throw invalid(`"${shown(text)}" is not a duration such as 30m, 2h or 1h30m`)
  return ms
}

/** Returns the epoch ms of a local time (`2026-12-01T17:00`) in a time zone. A time that the clocks skip is the later one. */
const localTime = (text: string, timezone: string): number =>
  Temporal.PlainDateTime.from(text).toZonedDateTime(timezone).epochMilliseconds

/** Whether an ISO time says nothing of its time zone. */
const isLocal = (text: string): boolean => !/(?:Z|[+-]\d\d:\d\d)$/.test(text)

/** A time without an offset is in the time zone, or in UTC if that is null. A date is its midnight there. */
const timeOf = (text: string, timezone: string | null): number => {
  if (!isoTime.test(text)) return Number.NaN
  if (!isLocal(text)) return midnightOf(text.slice(0, 10)) === null ? Number.NaN : Date.parse(text)
  try {
    return localTime(text, timezone ?? 'UTC')
  } catch {
    return Number.NaN
  }
}

/** Whether a text is a date, which is its midnight in UTC, or an ISO time with an offset. */
export const isIsoTime = (text: string): boolean =>
  (midnightOf(text) !== null || !isLocal(text)) && !Number.isNaN(timeOf(text, null))

/**
 * Returns a future time in epoch ms, from an ISO time (in `timezone` if it has no offset; a date is midnight there),
 * epoch ms, or a duration (`30m`, `2h`, `1d12h`) after `nowMs`. Throws Problem `invalid`.
 */
export const parseTime = (text: string, nowMs: number, timezone: string | null = null): number => {
  const ms = durationOf(text)
  if (ms !== null) return nowMs + ms
  const time = /^\d{9,15}$/.test(text) ? Number(text) : timeOf(text, timezone)
  if (!(time >= 0))
    throw invalid(`"${shown(text)}" is not a time such as 2026-11-20T08:00:00Z or a duration from now such as 2h`)
  return time
}

/**
 * Returns the start of a period in epoch ms, from an age (`30m`, `2h`, `7d`) before `nowMs` or an ISO time (a date without a
 * time is midnight), as in `parseTime`. Throws Problem `invalid`.
 */
export const parseSince = (text: string, nowMs: number, timezone: string | null = null): number => {
  const ms = durationOf(text)
  if (ms !== null) return Math.max(nowMs - ms, 0)
  const time = timeOf(text, timezone)
  if (!(time >= 0)) throw invalid('since must be an age such as 2h or a time such as 2026-11-20T08:00:00Z')
  return time
}
