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

/** The starts of a local day. Where the clocks don't change on it, minutes are minutes: a hundredth of the work. */
const startsOn = (date: Temporal.PlainDate, steps: readonly number[], timezone: string): number[] => {
  const midnight = date.toZonedDateTime(timezone)
  if (midnight.hoursInDay === 24 && midnight.toPlainDate().equals(date))
    return steps.map((minute) => midnight.epochMilliseconds + minute * minuteMs)
  const local = (minute: number) => date.toPlainDateTime({ hour: Math.floor(minute / 60), minute: minute % 60 })
  return steps.flatMap((minute) => instantOf(local(minute), timezone) ?? [])
}

/** When what is offered ends, in epoch ms: it begins at `nowMs`. */
export const offeredUntil = ({ days }: Calendar, nowMs: number): number => nowMs + days * dayMs

/** Every start that is offered at `nowMs`, taken or not, in order. All times in epoch ms. */
function* offeredStarts(calendar: Calendar, nowMs: number): Generator<number> {
  const { timezone } = calendar
  const untilMs = offeredUntil(calendar, nowMs)
  const lastDate = zoned(untilMs, timezone).toPlainDate()
  const steps = Array.from({ length: 8 }, (_, day) => stepsOf(calendar, day))
  let date = zoned(nowMs, timezone).toPlainDate()
  for (; Temporal.PlainDate.compare(date, lastDate) <= 0; date = date.add({ days: 1 })) {
    for (const start of startsOn(date, steps[date.dayOfWeek]!, timezone)) {
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
