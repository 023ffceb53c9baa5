import { type Html, html } from '../pages/html.ts'
import { notFound, type Page, type PageView } from '../pages/page.ts'
import type { App } from '../store/work.ts'
import { linksOf } from './webinars.links.ts'
import { timeText } from './webinars.mails.ts'
import { joinScript } from './webinars.script.ts'
import { calendarOf, cancelRegistration, type Place, placeOf } from './webinars.ts'

const style = `
.act { display: inline-block; padding: .65rem 1.1rem; min-height: 2.75rem; border-radius: .5rem; background: var(--act); color: var(--on-act); font-weight: 600; text-decoration: none }
.count { font-size: 1.75rem; font-weight: 600; font-variant-numeric: tabular-nums }
`

const view = (title: string, body: Html, more: Partial<PageView> = {}): PageView => ({ title, body, style, ...more })

const path = (app: App, { accountId, registrationId }: Place) => {
  const { join, calendar, cancel } = linksOf(app, accountId, registrationId)
  return { join, calendar: new URL(calendar).pathname, cancel: new URL(cancel).pathname }
}

const over: Partial<Record<Place['status'], string>> = {
  ended: 'This session has ended.',
  cancelled: 'This session was cancelled.',
}

/** What is said where there is nothing to join; null where there is. */
const closedText = ({ status, registration }: Place): string | null => {
  if (over[status]) return over[status]
  return registration === 'cancelled' ? 'You gave up your place. To come after all, please register again.' : null
}

const timeOf = ({ scheduledAt }: Place): Html | false =>
  scheduledAt !== null &&
  html`<p>It begins on <time id="time" datetime="${scheduledAt.toISOString()}">${timeText(scheduledAt)}</time>.</p>
<p id="local" hidden></p>`

const waiting = (app: App, place: Place): PageView => {
  const { calendar, cancel } = path(app, place)
  const { title, scheduledAt } = place
  const nowMs = app.now().getTime()
  return view(
    title,
    html`<h1>${title}</h1>
<p>You have a seat.</p>
${timeOf(place)}
<p class="count" id="count" role="timer" data-now="${nowMs}" hidden></p>
<p>Once the session is live, the way to its stream is here: <a href="">look again</a>.</p>
${scheduledAt !== null && html`<p><a href="${calendar}">Add it to your calendar</a></p>\n`}<p><a href="${cancel}">Give up your seat</a></p>`,
    { script: joinScript },
  )
}

const live = (app: App, place: Place): PageView => {
  const { title, streamUrl } = place
  return view(
    title,
    html`<h1>${title}</h1>
<p>The session is live.</p>
${
  streamUrl === null
    ? html`<p>Its stream is not here yet: <a href="">look again</a>.</p>`
    : html`<p><a class="act" href="${streamUrl}" rel="noreferrer">Watch the stream</a></p>`
}
<p><a href="${path(app, place).cancel}">Give up your seat</a></p>`,
  )
}

const onWaitlist = (app: App, place: Place): PageView =>
  view(
    place.title,
    html`<h1>${place.title}</h1>
<p>You are on the waitlist. As soon as a seat is free for you, a mail tells you so.</p>
${timeOf(place)}
<p><a href="${path(app, place).cancel}">Leave the waitlist</a></p>`,
    { script: joinScript },
  )

const closed = ({ title }: Place, text: string): PageView => view(title, html`<h1>${title}</h1>\n<p>${text}</p>`)

const join: Page = {
  method: 'GET',
  path: '/join/:token',
  handle: async ({ app, params }) => {
    const place = await placeOf(app, params.token!)
    if (!place) return notFound
    const text = closedText(place)
    if (text !== null) return closed(place, text)
    if (place.registration === 'waitlisted') return onWaitlist(app, place)
    return place.status === 'live' ? live(app, place) : waiting(app, place)
  },
}

const calendar: Page = {
  method: 'GET',
  path: '/join/:token/calendar.ics',
  handle: async ({ app, params }) => {
    const place = await placeOf(app, params.token!)
    if (!place?.scheduledAt || place.registration !== 'confirmed' || place.status === 'cancelled') return notFound
    const { webinarId: id, title, scheduledAt } = place
    return {
      type: 'text/calendar; charset=utf-8; method=PUBLISH',
      content: calendarOf({ id, title, scheduledAt, joinUrl: path(app, place).join, stamp: app.now() }),
      headers: { 'content-disposition': 'attachment; filename="session.ics"' },
    }
  },
}

const askCancel: Page = {
  method: 'GET',
  path: '/join/:token/cancel',
  handle: async ({ app, params }) => {
    const place = await placeOf(app, params.token!)
    if (!place) return notFound
    const text = closedText(place)
    if (text !== null) return closed(place, text)
    const isWaiting = place.registration === 'waitlisted'
    return view(
      place.title,
      html`<h1>${isWaiting ? 'Leave the waitlist?' : 'Give up your seat?'}</h1>
<p>${isWaiting ? 'You would no longer wait for a seat in' : 'Somebody else would get your seat in'} <strong>${place.title}</strong>.</p>
<form method="post"><button type="submit">${isWaiting ? 'Leave the waitlist' : 'Give up my seat'}</button></form>`,
    )
  },
}

const cancel: Page = {
  method: 'POST',
  path: '/join/:token/cancel',
  handle: async ({ app, params }) => {
    const place = await placeOf(app, params.token!)
    if (!place) return notFound
    const { accountId, registrationId } = place
    await app.work(accountId, 'page:join', (work) => cancelRegistration(app, work, registrationId))
    return { redirect: path(app, place).cancel }
  },
}

export const pages: readonly Page[] = [join, calendar, askCancel, cancel]
