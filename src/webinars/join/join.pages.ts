import { videoOf } from '../../lib/video.ts'
import { addToCalendar } from '../../pages/calendar.ts'
import { type Html, html } from '../../pages/html.ts'
import { json, notFoundPage, type Page, type PageAnswer, type PageView } from '../../pages/page.ts'
import { videoPlayer } from '../../pages/player.ts'
import type { App } from '../../store/work.ts'
import { recordPresence } from '../attendance/presence.ts'
import { calendarOf, linksOf } from '../emails/emails.ts'
import { cancelRegistration } from '../seats/places.ts'
import { coverLook } from '../view/cover.views.ts'
import { timeScript } from '../view/time.script.ts'
import { aboutView, calendarFile, countdown, eventOf, sessionStyle, whenView } from '../view/webinar.views.ts'
import { presenceScript } from './join.script.ts'
import { type Place, placeOf } from './place.ts'

const view = (title: string, body: Html, more: Partial<PageView> = {}): PageView => ({
  title,
  body,
  style: sessionStyle,
  ...more,
})

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

/** What the script reports to, and the state that the page shows. */
const presence = (app: App, place: Place): Html =>
  html`<p id="presence" data-url="${path(app, place).presence}" data-status="${place.status}" hidden></p>`

const waiting = (app: App, place: Place): PageView => {
  const { join, calendar, cancel } = path(app, place)
  const event = eventOf(place, join)
  const look = coverLook(app, { ...place, id: place.webinarId })
  return view(
    place.title,
    html`${look.cover}<p class="badge">You have a seat</p>
<h1>${place.title}</h1>
${whenView(place)}${countdown(place, app.now(), { reloads: true })}
<p>The stream opens on this page when the session is live. <a href="">Reload</a></p>
${event && addToCalendar(event, calendar)}
${aboutView(place)}
<p><a href="${cancel}">Cancel my registration</a></p>
${presence(app, place)}`,
    { script: timeScript + presenceScript, style: sessionStyle + look.style },
  )
}

/** A wider page, for a video. */
const wideStyle = `${sessionStyle}
main { max-width: 60rem; margin-top: 2vh }
`

/** Returns the video of a URL if its host allows other pages to embed it. */
const embedded = (url: string | null) => {
  const video = url === null ? null : videoOf(url)
  return video?.kind === 'frame' ? video : null
}

/** Returns what a page with this video has besides its body. */
const loading = (video: ReturnType<typeof embedded>): Partial<PageView> =>
  video ? { loads: video, style: wideStyle } : {}

const stream = (title: string, url: string): Html => {
  const video = embedded(url)
  const link = (label: string, look: 'act' | null) =>
    html`<a${look && html` class="${look}"`} href="${url}" target="_blank" rel="noreferrer">${label}</a>`
  if (!video)
    return html`<p>${link('Watch the stream', 'act')}</p>
<p>The stream opens in a new tab. Keep this page open while you watch: it shows the host that you attend.</p>`
  return html`${videoPlayer(video, `Stream: ${title}`)}
<p>Keep this page open while you watch: it shows the host that you attend.</p>
<p>Does the video not play? ${link('Watch it on its own page', null)}.</p>`
}

const live = (app: App, place: Place): PageView => {
  const { title, streamUrl } = place
  return view(
    title,
    html`<p class="badge live">Live now</p>
<h1>${title}</h1>
${
  streamUrl === null
    ? html`<p>The session is live. The stream is not available yet. <a href="">Reload</a></p>`
    : stream(title, streamUrl)
}
${aboutView(place)}
<p><a href="${path(app, place).cancel}">Cancel my registration</a></p>
${presence(app, place)}`,
    { script: presenceScript, ...loading(embedded(streamUrl)) },
  )
}

const onWaitlist = (app: App, place: Place): PageView =>
  view(
    place.title,
    html`<p class="badge">On the waitlist</p>
<h1>${place.title}</h1>
<p>You are on the waitlist. We’ll email you when a seat is free.</p>
${whenView(place)}${countdown(place, app.now())}${aboutView(place)}
<form method="post"><button type="submit" class="plain">Leave the waitlist</button></form>`,
    { script: timeScript },
  )

const recording = (title: string, url: string): Html => {
  const video = embedded(url)
  if (!video) return html`<p><a class="act" href="${url}" rel="noreferrer">Watch the recording</a></p>`
  return html`${videoPlayer(video, `Recording: ${title}`)}
<p><a href="${url}" rel="noreferrer">Watch the recording on its own page</a></p>`
}

const closed = (place: Place, text: string): PageView => {
  const { title, status, registration, replayUrl } = place
  const replay = status === 'ended' && registration === 'confirmed' ? replayUrl : null
  const isEnded = status === 'ended'
  return view(
    title,
    html`<h1>${title}</h1>
<p class="notice">${text}</p>
${isEnded && whenView(place)}${replay !== null && recording(title, replay)}${isEnded && aboutView(place)}`,
    { script: timeScript, ...loading(embedded(replay)) },
  )
}

type Answer = (app: App, place: Place) => PageAnswer | Promise<PageAnswer>

/** Declares a page of a registration. It is not found if the registration does not exist any more. */
const placePage = (method: 'GET' | 'POST', path: Page['path'], token: 'join' | 'waitlist', answer: Answer): Page => ({
  method,
  path,
  token,
  handle: async ({ app, params }) => {
    const place = await placeOf(app, params.token!, token)
    return place ? answer(app, place) : notFoundPage
  },
})

/** Answers only registrations that can join; the others see why they can't. */
const ifOpen =
  (answer: Answer): Answer =>
  (app, place) => {
    const text = closedText(place)
    return text === null ? answer(app, place) : closed(place, text)
  }

const join = placePage(
  'GET',
  '/join/:token',
  'join',
  ifOpen((app, place) => {
    if (place.registration === 'waitlisted') return notFoundPage
    return place.status === 'live' ? live(app, place) : waiting(app, place)
  }),
)

const calendar = placePage('GET', '/join/:token/calendar.ics', 'join', (app, place) => {
  const { webinarId: id, scheduledAt } = place
  if (!scheduledAt || place.registration !== 'confirmed' || place.status === 'cancelled') return notFoundPage
  return calendarFile(calendarOf({ ...place, id, scheduledAt, joinUrl: path(app, place).join, stamp: app.now() }))
})

const askCancel = placePage(
  'GET',
  '/join/:token/cancel',
  'join',
  ifOpen((app, place) => {
    // Emails from before the waitlist had its own pages link here.
    if (place.registration === 'waitlisted') return onWaitlist(app, place)
    return view(
      place.title,
      html`<h1>Cancel your registration?</h1>
<p>Your seat in <strong>${place.title}</strong> goes to the next person on the waitlist.</p>
<form method="post" class="ways"><button type="submit">Cancel my registration</button>
<a class="act plain" href="${new URL(path(app, place).join).pathname}">Keep my seat</a></form>`,
    )
  }),
)

const cancel = placePage('POST', '/join/:token/cancel', 'join', async (app, place) => {
  const { accountId, registrationId } = place
  await app.work(accountId, 'page:join', (work) => cancelRegistration(app, work, registrationId))
  return { redirect: path(app, place).cancel }
})

const askLeave = placePage(
  'GET',
  '/w/:token',
  'waitlist',
  ifOpen((app, place) =>
    place.registration === 'waitlisted'
      ? onWaitlist(app, place)
      : closed(place, 'You have a seat now. The link to join is in the email that confirmed it.'),
  ),
)

const leave = placePage('POST', '/w/:token', 'waitlist', async (app, { accountId, registrationId }) => {
  await app.work(accountId, 'page:waitlist', (work) => cancelRegistration(app, work, registrationId, 'waitlisted'))
  return { redirect: new URL(linksOf(app, accountId, registrationId).leave).pathname }
})

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
