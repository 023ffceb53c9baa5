const dayMs = 86_400_000

/** Returns the UTC day of a time in epoch ms: `2026-11-23`. */
export const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/**
 * Returns the midnight in UTC of a day, `YYYY-MM-DD`, in epoch ms, or null if the calendar has no such day: `Date.parse` takes 30
 * February for 2 March.
 */
export const midnightOf = (day: string): number | null => {
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN
  return Number.isNaN(ms) || dateOf(ms) !== day ? null : ms
}

/** Returns all days from `first` to `last`, both included. */
export const datesBetween = (first: string, last: string): string[] => {
  const dates: string[] = []
  for (let ms = Date.parse(first); ms <= Date.parse(last); ms += dayMs) dates.push(dateOf(ms))
  return dates
}

export const daysBefore = (at: Date, days: number): Date => new Date(at.getTime() - days * dayMs)

/** Returns the same day `months` months ago, or the last day of that month if it is shorter. */
export const monthsBefore = (at: Date, months: number): Date => {
  const before = new Date(at)
  before.setUTCMonth(at.getUTCMonth() - months)
  if (before.getUTCDate() !== at.getUTCDate()) before.setUTCDate(0)
  return before
}
