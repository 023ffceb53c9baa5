/** How an account writes dates. A language that is null stands for British English, a time zone that is null for UTC. */
export interface Locale {
  lang: string | null
  timezone: string | null
}

const plainLocale: Locale = { lang: null, timezone: null }

/** Returns the name of a time zone as it stands behind a time. */
const zoneText = (timezone: string | null): string =>
  timezone === null || timezone === 'UTC' ? 'UTC' : `(${timezone})`

const maxFormats = 200
const formats = new Map<string, Intl.DateTimeFormat>()

/** Returns the cached format of a locale: `Intl` takes 40 µs and more to make one, as long as the rest of an email. */
export const formatOf = (
  { lang, timezone }: Locale,
  style: Omit<Intl.DateTimeFormatOptions, 'timeZone'>,
): Intl.DateTimeFormat => {
  if (formats.size >= maxFormats) formats.clear()
  return formats.getOrInsertComputed(
    JSON.stringify([lang, timezone, style]),
    () => new Intl.DateTimeFormat(lang ?? 'en-GB', { ...style, timeZone: timezone ?? 'UTC' }),
  )
}

/** Returns a text such as `Monday, 23 November 2026 at 14:00 UTC`, or `… at 15:00 (Europe/Berlin)`. */
export const timeText = (time: Date, locale: Locale = plainLocale): string =>
  `${formatOf(locale, { dateStyle: 'full', timeStyle: 'short' }).format(time)} ${zoneText(locale.timezone)}`

/** Returns a date such as `Monday, 23 November 2026`, and times such as `14:00–15:00 UTC`, or `15:00–16:00 (Europe/Berlin)`. */
export const spanTexts = (start: Date, end: Date, locale: Locale = plainLocale): [day: string, times: string] => [
  formatOf(locale, { dateStyle: 'full' }).format(start),
  `${formatOf(locale, { timeStyle: 'short' }).formatRange(start, end)} ${zoneText(locale.timezone)}`,
]

/** Returns a text such as `23 November 2026`. */
export const dateText = (time: Date, locale: Locale = plainLocale): string =>
  formatOf(locale, { dateStyle: 'long' }).format(time)

/** Returns the parts of a date as on the sheet of a calendar, such as `Nov` and `23`. */
export const datePartsOf = (time: Date, locale: Locale = plainLocale): { month: string; date: string } => ({
  month: formatOf(locale, { month: 'short' }).format(time),
  date: formatOf(locale, { day: 'numeric' }).format(time),
})
