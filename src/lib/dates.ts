/** How an account writes dates. null: British English, and UTC. */
export interface Locale {
  lang: string | null
  timezone: string | null
}

export const plainLocale: Locale = { lang: null, timezone: null }

/** Returns the language for `Intl` of dates. */
export const dateLang = (lang: string | null | undefined): string => lang ?? 'en-GB'

/** Returns the name of a time zone as it stands behind a time. */
const zoneText = (timezone: string | null): string =>
  timezone === null || timezone === 'UTC' ? 'UTC' : `(${timezone})`

/** Returns a text such as `Monday, 23 November 2026 at 14:00 UTC`, or `… at 15:00 (Europe/Berlin)`. */
export const timeText = (time: Date, { lang, timezone }: Locale = plainLocale): string => {
  const format = { dateStyle: 'full', timeStyle: 'short', timeZone: timezone ?? 'UTC' } as const
  return `${new Intl.DateTimeFormat(dateLang(lang), format).format(time)} ${zoneText(timezone)}`
}

/** Returns a text such as `23 November 2026`. */
export const dateText = (time: Date, { lang, timezone }: Locale = plainLocale): string =>
  new Intl.DateTimeFormat(dateLang(lang), { dateStyle: 'long', timeZone: timezone ?? 'UTC' }).format(time)
