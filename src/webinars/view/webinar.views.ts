import { datePartsOf, type Locale, spanTexts } from '../../lib/dates.ts'
import { quantity } from '../../lib/quantity.ts'
import { type CalendarEvent, calendarStyle } from '../../pages/calendar.ts'
import { type Html, html } from '../../pages/html.ts'
import type { File } from '../../pages/page.ts'
import { videoStyle } from '../../pages/player.ts'
import type { WebinarRow } from '../sessions/sessions.find.ts'

/*
 * What the pages of a webinar have in common: the time in the zone of the host and, by a script, in that of the visitor, and a
 * countdown.
 */

/** What the pages show of a webinar. */
interface ShownSession {
  title: string
  description: string
  status: WebinarRow['status']
  scheduledAt: Date | null
  durationMinutes: number
  /** How its dates are written. */
  locale: Locale
}

export const sessionStyle = `${calendarStyle}${videoStyle}
.badge {
  display: inline-block;
  margin: 0 0 .75rem;
  padding: .15rem .7rem;
  border: 1px solid var(--line);
  border-radius: 1rem;
  font-size: .875rem;
  font-weight: 600
}
.badge.live { border-color: transparent; background: var(--act); color: var(--on-act) }
.when { display: flex; gap: 1rem; align-items: flex-start; margin: 0 0 1.25rem }
.when p { margin: 0 }
.when p + p { margin-top: .35rem }
.day { display: block; font-weight: 600 }
.quiet .day { font-weight: inherit }
.sheet {
  flex: none;
  width: 3.5rem;
  border: 1px solid var(--line);
  border-radius: .6rem;
  overflow: hidden;
  text-align: center;
  line-height: 1.3
}
.sheet span {
  display: block;
  padding: .1rem .2rem;
  background: var(--act);
  color: var(--on-act);
  font-size: .8rem;
  font-weight: 600
}
.sheet strong { display: block; padding: .15rem 0 .25rem; font-size: 1.4rem }
.count { margin: 0 0 1.25rem }
.count strong { display: block; font-size: 1.75rem; line-height: 1.2; font-variant-numeric: tabular-nums }
.about { white-space: pre-line }
.ways { display: flex; flex-wrap: wrap; gap: .75rem; align-items: center }
`

const endOf = (start: Date, minutes: number): Date => new Date(start.getTime() + minutes * 60_000)

/** Returns the webinar as an event for calendars, or null without a time. `page` is where it takes place. */
export const eventOf = (
  { title, description, scheduledAt, durationMinutes }: ShownSession,
  page: string,
): CalendarEvent | null =>
  scheduledAt && { title, description, start: scheduledAt, end: endOf(scheduledAt, durationMinutes), location: page }

/** Returns date, times, zone and length. The script adds those of the visitor if they differ. */
export const whenView = ({ scheduledAt, durationMinutes, locale }: ShownSession): Html | false => {
  if (scheduledAt === null) return false
  const [day, times] = spanTexts(scheduledAt, endOf(scheduledAt, durationMinutes), locale)
  const { month, date } = datePartsOf(scheduledAt, locale)
  const zone = html` data-zone="${locale.timezone ?? 'UTC'}"${locale.lang && html` data-lang="${locale.lang}"`}`
  return html`<div class="when">
<div class="sheet" aria-hidden="true"><span id="month">${month}</span><strong id="date">${date}</strong></div>
<div>
<p id="local" hidden></p>
<p id="host"><time id="time" datetime="${scheduledAt.toISOString()}" data-minutes="${durationMinutes}"${zone}>
<span class="day" id="day">${day}</span>
${times}</time></p>
<p class="quiet">Online · ${quantity(durationMinutes, 'minute', 'minutes', locale.lang)}</p>
</div>
</div>
`
}

/**
 * Returns the countdown, which only the script shows: without it the date remains. With `reloads` the page reloads after the
 * start until the session is live.
 */
export const countdown = ({ status, scheduledAt }: ShownSession, now: Date, { reloads = false } = {}): Html | false =>
  status === 'scheduled' &&
  scheduledAt !== null &&
  (reloads || now < scheduledAt) &&
  html`<p class="count" id="countdown" hidden><span class="quiet" id="count-label">Starts in</span>
<strong id="count" role="timer" aria-labelledby="count-label count" data-now="${now.getTime()}"${
    reloads && html` data-reloads`
  }></strong></p>
`

/** A URL in a text, without the punctuation after it. */
const url = /(https?:\/\/[^\s<>"]*[^\s<>"'.,;:!?)\]}])/

/** Returns the description, in which URLs are links. */
export const aboutView = ({ description }: ShownSession): Html | false => {
  if (description === '') return false
  const parts = description.split(url).map((part, i) => {
    return i % 2 === 0 ? part : html`<a href="${part}" target="_blank" rel="noopener noreferrer">${part}</a>`
  })
  return html`<p class="about">${parts}</p>\n`
}

/** Returns a calendar entry to download. */
export const calendarFile = (content: string): File => ({
  type: 'text/calendar; charset=utf-8; method=PUBLISH',
  content,
  headers: { 'content-disposition': 'attachment; filename="session.ics"' },
})
