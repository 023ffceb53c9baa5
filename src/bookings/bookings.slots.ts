/*
 * Computes which start times a booking block offers (docs/reference/studio.md#bookings). Windows are wall-clock times in the
 * block's time zone. `days` counts 24 hours each, even if the clocks change in between.
 */

/** The props of a booking block that define its start times. */
export interface Calendar {
  durationMinutes: number
  timezone: string
  availability: readonly { day: number; from: string; to: string }[]
  days: number
}

/** Limits what is shown only: later start times can still be booked. */
const maxShownStarts = 200

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

const minuteOf = (clock: string): number => Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3))

/** Returns the start times of a weekday (1 is Monday) as minutes after midnight, sorted, without duplicates. */
const stepsOf = ({ availability, durationMinutes }: Calendar, day: number): number[] => {
  const steps = new Set<number>()
  for (const window of availability) {
    if (window.day !== day) continue
    const last = minuteOf(window.to) - durationMinutes
    for (let minute = minuteOf(window.from); minute <= last; minute += durationMinutes) steps.add(minute)
  }
  return [...steps].sort((a, b) => a - b)
}

const zoned = (ms: number, timezone: string): Temporal.ZonedDateTime =>
  Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timezone)

/** Returns a local time in epoch ms: the earlier one if it occurs twice, null if the clocks skip it. */
const instantOf = (local: Temporal.PlainDateTime, timezone: string): number | null => {
  const time = local.toZonedDateTime(timezone, { disambiguation: 'earlier' })
  return time.toPlainDateTime().equals(local) ? time.epochMilliseconds : null
}

/** Returns the number of a local day, counted from 1970-01-01. */
const numberOf = ({ year, month, day }: Temporal.PlainDate): number => Date.UTC(year, month - 1, day) / dayMs
const dateOf = (day: number): Temporal.PlainDate => zoned(day * dayMs, 'UTC').toPlainDate()
/** 1 is Monday. */
const weekdayOf = (day: number): number => ((day + 3) % 7) + 1

const maxCachedMidnights = 10_000
const midnights = new Map<string, number | null>()

/** Returns a local day's midnight in epoch ms, or null if the clocks change on that day. Cached: zone lookups dominate a view's cost. */
const midnightOf = (day: number, timezone: string): number | null => {
  if (midnights.size >= maxCachedMidnights) midnights.clear()
  return midnights.getOrInsertComputed(`${day} ${timezone}`, () => {
    const date = dateOf(day)
    const midnight = date.toZonedDateTime(timezone)
    return midnight.hoursInDay === 24 && midnight.toPlainDate().equals(date) ? midnight.epochMilliseconds : null
  })
}

/** Returns the start times of a local day in epoch ms. Days without a clock change only need an addition: 1/100 of the work. */
const startsOn = (day: number, steps: readonly number[], timezone: string): number[] => {
  const midnight = midnightOf(day, timezone)
  if (midnight !== null) return steps.map((minute) => midnight + minute * minuteMs)
  const date = dateOf(day)
  const local = (minute: number) => date.toPlainDateTime({ hour: Math.floor(minute / 60), minute: minute % 60 })
  return steps.flatMap((minute) => instantOf(local(minute), timezone) ?? [])
}

/** Returns the end of the offered period that begins at `nowMs`, in epoch ms. */
export const offeredUntil = ({ days }: Calendar, nowMs: number): number => nowMs + days * dayMs

/** Yields every start time that is offered at `nowMs`, in order, including taken ones. All times in epoch ms. */
function* offeredStarts(calendar: Calendar, nowMs: number): Generator<number> {
  const { timezone } = calendar
  const untilMs = offeredUntil(calendar, nowMs)
  const last = numberOf(zoned(untilMs, timezone).toPlainDate())
  const steps = Array.from({ length: 8 }, (_, day) => stepsOf(calendar, day))
  for (let day = numberOf(zoned(nowMs, timezone).toPlainDate()); day <= last; day++) {
    for (const start of startsOn(day, steps[weekdayOf(day)]!, timezone)) {
      if (start >= nowMs && start < untilMs) yield start
    }
  }
}

/**
 * Returns the first free start times in order, at most `limit`. `taken` must be sorted and without overlaps. All times in epoch
 * ms.
 */
export const freeStarts = (
  calendar: Calendar,
  nowMs: number,
  taken: readonly { startAt: number; endAt: number }[],
  limit = maxShownStarts,
): number[] => {
  const lengthMs = calendar.durationMinutes * minuteMs
  let next = 0
  return offeredStarts(calendar, nowMs)
    .filter((start) => {
      while (next < taken.length && taken[next]!.endAt <= start) next++
      return next === taken.length || taken[next]!.startAt >= start + lengthMs
    })
    .take(limit)
    .toArray()
}

/** Returns whether a start time is offered, even if it is taken. All times in epoch ms. */
export const isOffered = (calendar: Calendar, nowMs: number, startMs: number): boolean => {
  if (startMs < nowMs || startMs >= offeredUntil(calendar, nowMs)) return false
  const { timezone } = calendar
  const local = zoned(startMs, timezone).toPlainDateTime()
  const minute = local.hour * 60 + local.minute
  return stepsOf(calendar, local.dayOfWeek).includes(minute) && instantOf(local.round('minute'), timezone) === startMs
}
