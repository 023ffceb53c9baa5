interface Span {
  startAt: number
  endAt: number
  timezone: string
}

/** `Monday, 23 November 2026` in a zone. `at` in epoch ms. */
export const dayOf = (at: number, timeZone: string): string =>
  new Intl.DateTimeFormat('en-GB', {
    timeZone,
    weekday: 'long',
    day: 'numeric',
    month: 'long',
    year: 'numeric',
  }).format(at)

/** `09:30` in a zone. `at` in epoch ms. */
export const clockOf = (at: number, timeZone: string): string =>
  new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(at)

/** `Monday, 23 November 2026, 09:00–09:30 (Europe/Berlin)`. Times in epoch ms. */
export const spanText = ({ startAt, endAt, timezone }: Span): string =>
  `${dayOf(startAt, timezone)}, ${clockOf(startAt, timezone)}–${clockOf(endAt, timezone)} (${timezone})`
