/*
 * Which starts a booking block offers (decisions.md, Bookings). Windows are wall clock in the block's zone, "from now on" is
 * time that passes: `days` are 24 hours each, whatever the clocks do meanwhile.
 */

/** The part of a booking block's props that says when. */
export interface Calendar {
  durationMinutes: number
  timezone: string
  availability: readonly { day: number; from: string; to: string }[]
  days: number
}

/** As many starts as are shown; those beyond can be booked just as well. */
export const shownStarts = 200

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

const minuteOf = (clock: string): number => Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3))

/** The minutes of a weekday (1 is Monday) at which a step begins that ends by its window's end, each once, in order. */
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

/** When a local time comes, the first time if it comes twice; null where the clocks skip it. In epoch ms. */
const instantOf = (local: Temporal.PlainDateTime, timezone: string): number | null => {
  const time = local.toZonedDateTime(timezone, { disambiguation: 'earlier' })
  return time.toPlainDateTime().equals(local) ? time.epochMilliseconds : null
}

/** Local days are numbered from 1970-01-01, as the days of UTC are. */
const numberOf = ({ year, month, day }: Temporal.PlainDate): number => Date.UTC(year, month - 1, day) / dayMs
const dateOf = (day: number): Temporal.PlainDate => zoned(day * dayMs, 'UTC').toPlainDate()
/** 1 is Monday. */
const weekdayOf = (day: number): number => ((day + 3) % 7) + 1

const mostKept = 10_000
const midnights = new Map<string, number | null>()

/** When a local day begins, in epoch ms, where the clocks don't change on it; else null. Kept: zones are the dear part of a view. */
const midnightOf = (day: number, timezone: string): number | null => {
  if (midnights.size >= mostKept) midnights.clear()
  return midnights.getOrInsertComputed(`${day} ${timezone}`, () => {
    const date = dateOf(day)
    const midnight = date.toZonedDateTime(timezone)
    return midnight.hoursInDay === 24 && midnight.toPlainDate().equals(date) ? midnight.epochMilliseconds : null
  })
}

/** The starts of a local day. Where the clocks don't change on it, minutes are minutes: a hundredth of the work. */
const startsOn = (day: number, steps: readonly number[], timezone: string): number[] => {
  const midnight = midnightOf(day, timezone)
  if (midnight !== null) return steps.map((minute) => midnight + minute * minuteMs)
  const date = dateOf(day)
  const local = (minute: number) => date.toPlainDateTime({ hour: Math.floor(minute / 60), minute: minute % 60 })
  return steps.flatMap((minute) => instantOf(local(minute), timezone) ?? [])
}

/** When what is offered ends, in epoch ms: it begins at `nowMs`. */
export const offeredUntil = ({ days }: Calendar, nowMs: number): number => nowMs + days * dayMs

/** Every start that is offered at `nowMs`, taken or not, in order. All times in epoch ms. */
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

/** The first starts that are free, in order; at most `limit`. All times in epoch ms. */
export const freeStarts = (
  calendar: Calendar,
  nowMs: number,
  taken: ReadonlySet<number>,
  limit = shownStarts,
): number[] =>
  offeredStarts(calendar, nowMs)
    .filter((start) => !taken.has(start))
    .take(limit)
    .toArray()

/** Whether a start is offered, taken or not. All times in epoch ms. */
export const isOffered = (calendar: Calendar, nowMs: number, startMs: number): boolean => {
  if (startMs < nowMs || startMs >= offeredUntil(calendar, nowMs)) return false
  const { timezone } = calendar
  const local = zoned(startMs, timezone).toPlainDateTime()
  const minute = local.hour * 60 + local.minute
  return stepsOf(calendar, local.dayOfWeek).includes(minute) && instantOf(local.round('minute'), timezone) === startMs
}
