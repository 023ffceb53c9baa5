import { cut } from '../lib/strings.ts'
import { type Html, html } from './html.ts'

/** An event that visitors can add to their calendars. */
export interface CalendarEvent {
  title: string
  start: Date
  end: Date
  /** Plain text. */
  description?: string
  /** An address, or the URL of a page to join. */
  location?: string
}

/** Longer descriptions make URLs that calendars refuse. */
const descriptionMaxLength = 1_000

const textsOf = ({ description = '', location }: CalendarEvent) => ({
  details: cut(description, descriptionMaxLength),
  location,
})

const withParameters = (url: string, parameters: Readonly<Record<string, string | undefined>>): string => {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => Boolean(entry[1]))
  return `${url}?${new URLSearchParams(given)}`
}

/** Returns a time such as `20261124T160000Z`. */
const basic = (time: Date): string => time.toISOString().replace(/[-:]|\.\d+/g, '')

/** Returns the URL that opens a new event in Google Calendar. */
export const googleUrl = (event: CalendarEvent): string =>
  withParameters('https://calendar.google.com/calendar/render', {
    action: 'TEMPLATE',
    text: event.title,
    dates: `${basic(event.start)}/${basic(event.end)}`,
    ...textsOf(event),
  })

/** Returns the URL that opens a new event in Outlook on the web. */
export const outlookUrl = (event: CalendarEvent): string => {
  const { details, location } = textsOf(event)
  return withParameters('https://outlook.live.com/calendar/0/deeplink/compose', {
    path: '/calendar/action/compose',
    rru: 'addevent',
    subject: event.title,
    startdt: event.start.toISOString(),
    enddt: event.end.toISOString(),
    body: details,
    location,
  })
}

/** Added by pages that show `addToCalendar`: `PageView.style`. */
export const calendarStyle = `
.calendars { margin: 0 0 1rem }
.calendars ul { display: flex; flex-wrap: wrap; gap: .5rem; margin: .35rem 0 0; padding: 0; list-style: none }
.calendars a {
  display: block;
  padding: .5rem .9rem;
  border: 1px solid var(--line);
  border-radius: .5rem;
  font-weight: 600;
  text-decoration: none
}
.calendars a:hover { border-color: currentColor }
`

/** Returns links that add an event to a calendar. `file` is the URL of its .ics, for Apple's and all others. */
export const addToCalendar = (event: CalendarEvent, file: string): Html => {
  const elsewhere = (url: string, label: string) =>
    html`<li><a href="${url}" target="_blank" rel="noopener noreferrer">${label}</a></li>`
  // Some screen readers announce a list without markers only if it has the role.
  return html`<div class="calendars">
<span class="quiet" id="calendars">Add to calendar</span>
<ul role="list" aria-labelledby="calendars">
${elsewhere(googleUrl(event), 'Google')}
${elsewhere(outlookUrl(event), 'Outlook')}
<li><a href="${file}">Apple, other (.ics)</a></li>
</ul>
</div>`
}
