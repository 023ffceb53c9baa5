import { readBrand } from '../accounts/accounts.ts'
import { cut } from '../lib/strings.ts'
import { findProjectMail } from '../messages/messages.ts'
import { addToCalendar, type CalendarEvent, calendarStyle } from '../pages/calendar.ts'
import { type Html, html } from '../pages/html.ts'
import {
  formStyle,
  notFoundPage,
  ownPath,
  type Page,
  type PageCall,
  type PageView,
  successMark,
} from '../pages/page.ts'
import type { App } from '../store/work.ts'
import { calendarEntry } from './bookings.calendar.ts'
import { findBooking } from './bookings.find.ts'
import { type BookingLinks, entryDescription } from './bookings.mails.ts'
import { linksOf } from './bookings.notify.ts'
import { localTimeScript } from './bookings.script.ts'
import { cancelBooking, reasonMaxLength } from './bookings.ts'
import { type BookingRow, spanLines } from './bookings.view.ts'

export { forms } from './bookings.block.views.ts'

interface LinkedBooking {
  accountId: string
  /** The language of dates and numbers. It is null for English. */
  lang: string | null
  /** Whom the attendee meets: the name of the account, or of the email's sender. It is null if neither has one. */
  host: string | null
  booking: BookingRow
  links: BookingLinks
}

/** Returns the booking that a link names, or null if the booking or its account is deleted. */
const bookingOf = async ({ app, subject }: PageCall): Promise<LinkedBooking | null> => {
  const [accountId = '', id = ''] = subject
  const reader = { sql: app.sql, accountId }
  const booking = await findBooking(reader, id)
  if (!booking) return null
  const [{ lang, brandName }, sent] = await Promise.all([
    readBrand(reader),
    findProjectMail(reader, accountId, booking.messageId),
  ])
  const host = brandName ?? (sent?.from?.name || null)
  return { accountId, lang, host, booking, links: linksOf(app, accountId, booking) }
}

const style = `${formStyle}${calendarStyle}
.facts { display: grid; grid-template-columns: auto 1fr; gap: .5rem 1.25rem; margin: 0 0 1.5rem }
.facts dt { color: var(--quiet) }
.facts dd { margin: 0 }
.facts p { margin: .25rem 0 0; color: var(--quiet) }
h2 { margin: 1.5rem 0 .75rem; padding-top: 1.25rem; border-top: 1px solid var(--line); font-size: 1.1rem; line-height: 1.25 }
.actions { display: grid }
.actions .act { text-align: center }
summary { padding: .6rem 0; color: var(--link); font-weight: 600; cursor: pointer }
form { padding-top: .5rem }
`

/** What is booked, when and with whom. */
const facts = ({ booking, lang, host }: LinkedBooking): Html => {
  const { title, startAt, endAt, timezone, name } = booking
  const [day, times] = spanLines(booking, lang)
  const own = html`data-start="${startAt}" data-end="${endAt}" data-zone="${timezone}" data-lang="${lang ?? 'en-GB'}"`
  const people = [host, name].filter((one) => one !== null && one !== '')
  return html`<dl class="facts">
<dt>What</dt><dd><strong>${title}</strong></dd>
<dt>When</dt><dd>${day}<br>${times}<p id="when" ${own} hidden></p></dd>
${people.length > 0 && html`<dt>Who</dt><dd>${people.map((one, i) => html`${i > 0 && html`<br>`}${one}`)}</dd>\n`}</dl>`
}

const eventOf = ({ booking, links }: LinkedBooking): CalendarEvent => ({
  title: booking.title,
  start: new Date(booking.startAt),
  end: new Date(booking.endAt),
  description: entryDescription(booking, links),
})

const chooseLink = ({ links }: LinkedBooking, label: string): Html => {
  const { pathname, search, hash } = new URL(links.choose)
  return html`<p class="actions"><a class="act plain" href="${pathname}${search}${hash}">${label}</a></p>`
}

/** Shows a booking: how to add it to a calendar, to move and to cancel it. `isNew` says that it was just made or moved. */
const bookedPage = (linked: LinkedBooking, file: string, isNew: boolean): PageView => {
  const { booking } = linked
  const heading = isNew ? 'You are booked' : 'Your booking'
  return {
    title: heading,
    style,
    script: localTimeScript,
    body: html`${isNew && successMark}<h1>${heading}</h1>
${
  isNew &&
  html`<p class="notice" role="status">
We’ll email you the invitation${booking.email !== '' && html` at <strong>${booking.email}</strong>`}.
</p>`
}
${facts(linked)}
${addToCalendar(eventOf(linked), file)}
<h2>Need a change?</h2>
${chooseLink(linked, 'Choose another time')}
<details${!isNew && html` open`}>
<summary>Cancel this booking</summary>
<form method="post">
<div class="field">
<label for="reason">Reason <span class="quiet">(optional)</span></label>
<textarea id="reason" name="reason" rows="3" maxlength="${reasonMaxLength}"></textarea>
</div>
<button type="submit">Cancel the booking</button>
</form>
</details>`,
  }
}

const cancelledPage = (linked: LinkedBooking, heading: string): PageView => ({
  title: heading,
  style,
  script: localTimeScript,
  body: html`<h1>${heading}</h1>
${facts(linked)}
<p>The time is free again.</p>
${chooseLink(linked, 'Book another time')}`,
})

const alreadyCancelled = 'This booking is already cancelled'

const endedPage = (linked: LinkedBooking): PageView => ({
  title: 'This booking is over',
  style,
  script: localTimeScript,
  body: html`<h1>This booking is over</h1>
${facts(linked)}
<p>It can no longer be cancelled.</p>
${chooseLink(linked, 'Book another time')}`,
})

/**
 * The page of a booking, from its emails and after an answer. GET changes nothing, because mail programs and scanners follow
 * links.
 */
const path = '/b/:token'

const fileOf = (app: App, token: string): string => ownPath(app, `/b/${token}/calendar.ics`)

const show: Page = {
  method: 'GET',
  path,
  token: 'booking',
  async handle(call) {
    const linked = await bookingOf(call)
    if (!linked) return notFoundPage
    const { app, params, query } = call
    if (linked.booking.status === 'cancelled') return cancelledPage(linked, alreadyCancelled)
    if (linked.booking.endAt <= app.now().getTime()) return endedPage(linked)
    return bookedPage(linked, fileOf(app, params.token!), 'booked' in query)
  },
}

const download: Page = {
  method: 'GET',
  path: '/b/:token/calendar.ics',
  token: 'booking',
  async handle(call) {
    const linked = await bookingOf(call)
    if (linked?.booking.status !== 'confirmed') return notFoundPage
    const { booking, links, accountId } = linked
    const sent = await findProjectMail({ sql: call.app.sql }, accountId, booking.messageId)
    return {
      type: 'text/calendar; charset=utf-8; method=PUBLISH',
      content: calendarEntry({
        booking,
        organizer: sent?.from ?? null,
        description: entryDescription(booking, links),
        now: call.app.now(),
        isPublished: true,
      }),
      headers: { 'content-disposition': 'attachment; filename="booking.ics"' },
    }
  },
}

const cancel: Page = {
  method: 'POST',
  path,
  token: 'booking',
  async handle(call) {
    const linked = await bookingOf(call)
    if (!linked) return notFoundPage
    const { app, form } = call
    const reason =
      cut((form.reason ?? '').replaceAll('\0', ''), reasonMaxLength)
        .toWellFormed()
        .trim() || null
    const done = await app.work(linked.accountId, 'page:booking', (work) =>
      cancelBooking(app, work, linked.booking.id, { by: 'attendee', reason }),
    )
    if (done.booking.status === 'confirmed') return endedPage(linked)
    return cancelledPage(linked, done.cancelled ? 'Your booking is cancelled' : alreadyCancelled)
  },
}

export const pages: readonly Page[] = [show, download, cancel]
