import { timeText } from '../../lib/dates.ts'
import { type Html, html } from '../../pages/html.ts'
import { json, notFoundPage, type Page, type PageView } from '../../pages/page.ts'
import type { App } from '../../store/work.ts'
import { recordPresence } from '../attendance/attendance.ts'
import { calendarOf, linksOf } from '../emails/emails.ts'
import { cancelRegistration } from '../seats/seats.ts'
import { joinScript, presenceScript } from './join.script.ts'
import { type Place, placeOf } from './place.ts'

const style = `
.count { font-size: 1.75rem; font-weight: 600; font-variant-numeric: tabular-nums }
`

const view = (title: string, body: Html, more: Partial<PageView> = {}): PageView => ({ title, body, style, ...more })

const path = (app: App, { accountId, registrationId }: Place) => {
  const { join, calendar, cancel } = linksOf(app, accountId, registrationId)
  const { pathname } = new URL(join)
  return {
    join,
    calendar: new URL(calendar).pathname,
    cancel: new URL(cancel).pathname,
    presence: `${pathname}/presence`,
  }
}

const endedTexts: Partial<Record<Place['status'], string>> = {
  ended: 'This session has ended.',
  cancelled: 'This session was cancelled.',
}

/** Returns the text for a registration that can't join, or null if it can. */
const closedText = ({ status, registration }: Place): string | null => {
  if (endedTexts[status]) return endedTexts[status]
  return registration === 'cancelled'
    ? 'You cancelled your registration. To attend after all, please register again.'
    : null
}

const timeOf = ({ scheduledAt, locale }: Place): Html | false =>
  scheduledAt !== null &&
  html`<p>It begins on <time id="time" datetime="${scheduledAt.toISOString()}"${
    locale.lang && html` data-lang="${locale.lang}"`
  }>${timeText(scheduledAt, locale)}</time>.</p>
<p id="local" hidden></p>`

/** What the script reports to, and the state that the page shows. */
const presence = (app: App, place: Place): Html =>
  html`<p id="presence" data-url="${path(app, place).presence}" data-status="${place.status}" hidden></p>`

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
<p>The stream opens here when the session is live. <a href="">Reload</a></p>
${scheduledAt !== null && html`<p><a href="${calendar}">Add to your calendar</a></p>`}
<p><a href="${cancel}">Cancel my registration</a></p>
${presence(app, place)}`,
    { script: joinScript + presenceScript },
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
    ? html`<p>The stream is not available yet. <a href="">Reload</a></p>`
    : html`<p><a class="act" href="${streamUrl}" target="_blank" rel="noreferrer">Watch the stream</a></p>
<p>The stream opens in a new tab. Keep this page open while you watch: it shows the host that you attend.</p>`
}
<p><a href="${path(app, place).cancel}">Cancel my registration</a></p>
${presence(app, place)}`,
    { script: presenceScript },
  )
}

const onWaitlist = (place: Place): PageView =>
  view(
    place.title,
    html`<h1>${place.title}</h1>
<p>You are on the waitlist. We’ll email you when a seat is free.</p>
${timeOf(place)}
<form method="post"><button type="submit">Leave the waitlist</button></form>`,
    { script: joinScript },
  )

const closed = ({ title, status, registration, replayUrl }: Place, text: string): PageView => {
  const isReplayed = status === 'ended' && registration === 'confirmed' && replayUrl !== null
  return view(
    title,
    html`<h1>${title}</h1>
<p>${text}</p>
${isReplayed && html`<p><a class="act" href="${replayUrl}" rel="noreferrer">Watch the recording</a></p>`}`,
  )
}

const join: Page = {
  method: 'GET',
  path: '/join/:token',
  token: 'join',
  handle: async ({ app, params }) => {
    const place = await placeOf(app, params.token!)
    if (!place) return notFoundPage
    const text = closedText(place)
    if (text !== null) return closed(place, text)
    if (place.registration === 'waitlisted') return notFoundPage
    return place.status === 'live' ? live(app, place) : waiting(app, place)
  },
}

const calendar: Page = {
  method: 'GET',
  path: '/join/:token/calendar.ics',
  token: 'join',
  handle: async ({ app, params }) => {
    const place = await placeOf(app, params.token!)
    if (!place?.scheduledAt || place.registration !== 'confirmed' || place.status === 'cancelled') return notFoundPage
    const { webinarId: id, scheduledAt } = place
    return {
      type: 'text/calendar; charset=utf-8; method=PUBLISH',
      content: calendarOf({ ...place, id, scheduledAt, joinUrl: path(app, place).join, stamp: app.now() }),
      headers: { 'content-disposition': 'attachment; filename="session.ics"' },
    }
  },
}

const askCancel: Page = {
  method: 'GET',
  path: '/join/:token/cancel',
  token: 'join',
  handle: async ({ app, params }) => {
    const place = await placeOf(app, params.token!)
    if (!place) return notFoundPage
    const text = closedText(place)
    if (text !== null) return closed(place, text)
    // Emails from before the waitlist had its own pages link here.
    if (place.registration === 'waitlisted') return onWaitlist(place)
    return view(
      place.title,
      html`<h1>Cancel your registration?</h1>
<p>Your seat in <strong>${place.title}</strong> goes to the next person on the waitlist.</p>
<form method="post"><button type="submit">Cancel my registration</button></form>`,
    )
  },
}

const cancel: Page = {
  method: 'POST',
  path: '/join/:token/cancel',
  token: 'join',
  handle: async ({ app, params }) => {
    const place = await placeOf(app, params.token!)
    if (!place) return notFoundPage
    const { accountId, registrationId } = place
    await app.work(accountId, 'page:join', (work) => cancelRegistration(app, work, registrationId))
    return { redirect: path(app, place).cancel }
  },
}

const askLeave: Page = {
  method: 'GET',
  path: '/w/:token',
  token: 'waitlist',
  handle: async ({ app, params }) => {
    const place = await placeOf(app, params.token!, 'waitlist')
    if (!place) return notFoundPage
    const text = closedText(place)
    if (text !== null) return closed(place, text)
    if (place.registration === 'waitlisted') return onWaitlist(place)
    return closed(place, 'You have a seat now. The link to join is in the email that confirmed it.')
  },
}

const leave: Page = {
  method: 'POST',
  path: '/w/:token',
  token: 'waitlist',
  handle: async ({ app, params }) => {
    const place = await placeOf(app, params.token!, 'waitlist')
    if (!place) return notFoundPage
    const { accountId, registrationId } = place
    await app.work(accountId, 'page:waitlist', (work) => cancelRegistration(app, work, registrationId, 'waitlisted'))
    return { redirect: new URL(linksOf(app, accountId, registrationId).leave).pathname }
  },
}

const report: Page = {
  method: 'POST',
  path: '/join/:token/presence',
  token: 'join',
  takes: 'raw',
  handle: async ({ app, subject: [accountId, registrationId] }) => {
    if (!accountId || !registrationId) return notFoundPage
    const status = await recordPresence(app, accountId, registrationId)
    return status === null ? json(404, { error: notFoundPage.title }) : json(200, { status })
  },
}

export const pages: readonly Page[] = [join, calendar, report, askCancel, cancel, askLeave, leave]
