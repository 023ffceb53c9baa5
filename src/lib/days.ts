const dayMs = 86_400_000

/** Returns the UTC day of a time in epoch ms: `2026-11-23`. */
export const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** Returns all days from `first` to `last`, both included. */
export const datesBetween = (first: string, last: string): string[] => {
  const dates: string[] = []
  for (let ms = Date.parse(first); ms <= Date.parse(last); ms += dayMs) dates.push(dateOf(ms))
  return dates
}

/** Returns the time `days` days before. */
export const daysBefore = (at: Date, days: number): Date => new Date(at.getTime() - days * dayMs)

/** Returns the same day `months` months ago, or the last day of that month if it is shorter. */
export const monthsBefore = (at: Date, months: number): Date => {
  const before = new Date(at)
  before.setUTCMonth(at.getUTCMonth() - months)
  if (before.getUTCDate() !== at.getUTCDate()) before.setUTCDate(0)
  return before
}
