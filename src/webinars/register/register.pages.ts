import { requireAdmission, requirePublicWrite } from '../../accounts/accounts.ts'
import { honeypotName } from '../../forms/forms.ts'
import { recordOf } from '../../lib/file-faults.ts'
import { parse } from '../../lib/parse.ts'
import { conflict, notFound, Problem } from '../../lib/problem.ts'
import { number } from '../../lib/quantity.ts'
import { addToCalendar } from '../../pages/calendar.ts'
import { type Html, html } from '../../pages/html.ts'
import {
  formStyle,
  json,
  notFoundPage,
  ownPath,
  type Page,
  type PageAnswer,
  type PageCall,
  type PageView,
  successMark,
} from '../../pages/page.ts'
import type { App } from '../../store/work.ts'
import { calendarOf } from '../emails/emails.ts'
import { registerAttendees } from '../seats/seats.register.ts'
import { coverOf } from '../sessions/sessions.cover.ts'
import { RegistrationBody } from '../sessions/sessions.shapes.ts'
import { coverLook } from '../view/cover.views.ts'
import { timeScript } from '../view/time.script.ts'
import { aboutView, calendarFile, countdown, eventOf, sessionStyle, whenView } from '../view/webinar.views.ts'
import { findPublicWebinar, type PublicWebinar, registerUrl } from './register.ts'

/*
 * The page to register for a webinar (docs/reference/sessions.md#registration-page). Its answer does not depend on whether the
 * address is registered already.
 */

const style = `${formStyle}${sessionStyle}
h2 { margin: 0 0 .75rem; font-size: 1.15rem; line-height: 1.3 }
.seats { margin: 0 0 1.25rem; font-weight: 600 }
.fault { margin: 0 0 1rem }
`

/** On a wide screen the cover and the text are beside the time and the form. */
const eventStyle = (cover: string): string => `${style}${cover}
.event > .about { margin: 1.5rem 0 0 }
@media (min-width: 60rem) {
  main { max-width: 58rem }
  .event { display: grid; grid-template: auto 1fr / 19rem minmax(0, 1fr); gap: 1.5rem 2.5rem }
  .event > .cover, .event > .about { margin: 0 }
  .event > div.cover { height: auto; aspect-ratio: 1 }
  .event > .session { grid-area: 1 / 2 / 3 / 3 }
  .event h1 { font-size: 2rem }
}
.sign-up button { width: 100% }
.sign-up { padding: 1.25rem; border: 1px solid var(--line); border-radius: .75rem; background: var(--ground) }
`

/** The numbers of free seats that the page shows. */
const steps = [100, 50, 20, 10, 5]

/**
 * Returns how many seats are free, rounded down to a step: from an exact number a visitor could see whether an address that they
 * enter was registered before.
 */
const seatsText = (left: number, lang: string | null): string => {
  const step = steps.find((one) => one <= left)
  return step === undefined
    ? `Fewer than ${number(steps.at(-1)!, lang)} seats left`
    : `${number(step, lang)}+ seats left`
}

const isFull = ({ seatsLeft }: PublicWebinar): boolean => seatsLeft === 0

const seats = ({ seatsLeft, locale }: PublicWebinar): Html | false => {
  if (seatsLeft === null) return false
  if (seatsLeft > 0) return html`<p class="seats">${seatsText(seatsLeft, locale.lang)}</p>\n`
  return html`<p class="notice"><strong>All seats are taken.</strong>
Join the waitlist: we’ll email you when a seat is free.</p>\n`
}

const heading = ({ title, status }: PublicWebinar): Html =>
  html`${status === 'live' && html`<p class="badge live">Live now</p>\n`}<h1>${title}</h1>\n`

const closedTexts: Partial<Record<PublicWebinar['status'], string>> = {
  ended: 'This session has ended.',
  cancelled: 'This session was cancelled.',
}

const closed = (app: App, webinar: PublicWebinar, text: string): PageView => {
  const look = coverLook(app, webinar)
  return {
    status: 409,
    title: webinar.title,
    accountId: webinar.accountId,
    style: eventStyle(look.style),
    script: timeScript,
    body: html`<div class="event">
${look.cover}<div class="session">
${heading(webinar)}<p class="notice"><strong>${text}</strong></p>
${webinar.status !== 'cancelled' && whenView(webinar)}</div>
${aboutView(webinar)}</div>`,
  }
}

interface Entered {
  email: string
  name: string
  fault: string
}

const formPage = (app: App, webinar: PublicWebinar, entered?: Entered): PageView => {
  const look = coverLook(app, webinar)
  return {
    status: entered ? 400 : 200,
    title: entered ? `Please check: ${webinar.title}` : webinar.title,
    accountId: webinar.accountId,
    style: eventStyle(look.style),
    script: timeScript,
    preview: { description: webinar.description, image: look.url },
    body: html`<div class="event">
${look.cover}<div class="session">
${heading(webinar)}${whenView(webinar)}${countdown(webinar, app.now())}${seats(webinar)}
<section class="sign-up" aria-labelledby="sign-up">
<h2 id="sign-up">${isFull(webinar) ? 'Join the waitlist' : 'Register'}</h2>
${entered && html`<p class="fault" role="alert" id="fault">${entered.fault}</p>`}
<form method="post">
<div class="field">
<label for="email">Email</label>
<input type="email" id="email" name="email" required maxlength="320" autocomplete="email" value="${entered?.email ?? ''}">
</div>
<div class="field">
<label for="name">Name</label>
<input type="text" id="name" name="name" required maxlength="200" autocomplete="name" value="${entered?.name ?? ''}">
</div>
<div class="trap" aria-hidden="true">
<label>Leave this empty<input type="text" name="${honeypotName}" tabindex="-1" autocomplete="off"></label>
</div>
<button type="submit">${isFull(webinar) ? 'Join the waitlist' : 'Register'}</button>
</form>
</section>
</div>
${aboutView(webinar)}</div>`,
  }
}

const path = '/webinar/:id'

const accountOf: Page['accountOf'] = async (app, { id }) => (await findPublicWebinar(app, id!))?.accountId ?? null

const closedText = ({ status }: PublicWebinar): string | undefined => closedTexts[status]

const show: Page = {
  method: 'GET',
  path,
  accountOf,
  async handle({ app, params }) {
    const webinar = await findPublicWebinar(app, params.id!)
    if (!webinar) return notFoundPage
    const text = closedText(webinar)
    return text === undefined ? formPage(app, webinar) : closed(app, webinar, text)
  },
}

/** Counts as a submission of a signup form, and as a write without a key. */
const count = async ({ app, address }: PageCall): Promise<void> => {
  await requireAdmission(app.sql, 'forms', address, app.config.rateLimitForms)
  await requirePublicWrite(app.sql, { address, limit: app.config.rateLimitPublic })
}

const register = (app: App, { accountId, id }: PublicWebinar, attendee: RegistrationBody): Promise<unknown> =>
  app.work(accountId, 'page:webinar', (work) => registerAttendees(app, work, id, [attendee]))

/** Answers a program. It gets refusals as `{ error }`. */
const answerScript = async (app: App, webinar: PublicWebinar | null, body: unknown): Promise<PageAnswer> => {
  if (!webinar) throw notFound('There is no such webinar')
  const text = closedText(webinar)
  if (text !== undefined) throw conflict(text.replace('.', ''))
  if (!recordOf(body)?.[honeypotName]) await register(app, webinar, parse(RegistrationBody, body, 'body'))
  return json(200, { ok: true })
}

const take: Page = {
  method: 'POST',
  path,
  accountOf,
  takes: 'json',
  limited: 'self',
  async handle(call) {
    await count(call)
    const { app, params, form } = call
    const webinar = await findPublicWebinar(app, params.id!)
    if (call.json !== undefined) return answerScript(app, webinar, call.json)
    if (!webinar) return notFoundPage
    const text = closedText(webinar)
    if (text !== undefined) return closed(app, webinar, text)
    const { email = '', name = '' } = form
    const thanks = { redirect: `${ownPath(app, `/webinar/${webinar.id}`)}/thanks` }
    if (form[honeypotName]) return thanks
    const checked = RegistrationBody.safeParse({ email, name })
    if (!checked.success) {
      const isName = checked.error.issues.every(({ path: [field] }) => field === 'name')
      return formPage(app, webinar, {
        email,
        name,
        fault: isName ? 'Please enter your name.' : 'Please enter an email address.',
      })
    }
    try {
      await register(app, webinar, checked.data)
    } catch (error) {
      if (error instanceof Problem && error.kind === 'not_found') return notFoundPage
      if (error instanceof Problem && error.kind === 'conflict') return closed(app, webinar, `${error.message}.`)
      throw error
    }
    return thanks
  },
}

/** Returns the calendar entry for a person who has no link to join yet, or null without a time or after the end. */
const entryOf = (app: App, webinar: PublicWebinar) =>
  closedText(webinar) === undefined ? eventOf(webinar, registerUrl(app, webinar.id)) : null

const thank: Page = {
  method: 'GET',
  path: '/webinar/:id/thanks',
  accountOf,
  async handle({ app, params }) {
    const webinar = await findPublicWebinar(app, params.id!)
    if (!webinar) return notFoundPage
    const entry = entryOf(app, webinar)
    const page = ownPath(app, `/webinar/${webinar.id}`)
    return {
      title: webinar.title,
      accountId: webinar.accountId,
      style,
      script: timeScript,
      body: html`${successMark}<h1>Thank you</h1>
<p>We have sent you an email: it says whether you have a seat, and has your link to join.</p>
<h2>${webinar.title}</h2>
${whenView(webinar)}${entry && addToCalendar(entry, `${page}/calendar.ics`)}
<p class="quiet">If you had registered before, the email that you got then is still valid.</p>
<p><a href="${page}">Back to the webinar</a></p>`,
    }
  },
}

const calendar: Page = {
  method: 'GET',
  path: '/webinar/:id/calendar.ics',
  accountOf,
  async handle({ app, params }) {
    const webinar = await findPublicWebinar(app, params.id!)
    if (!webinar?.scheduledAt || !entryOf(app, webinar)) return notFoundPage
    const { scheduledAt } = webinar
    const joinUrl = registerUrl(app, webinar.id)
    return calendarFile(calendarOf({ ...webinar, scheduledAt, joinUrl, isForEveryone: true, stamp: app.now() }))
  },
}

const picture: Page = {
  method: 'GET',
  path: '/assets/:accountId/webinars/:id/cover',
  async handle({ app, params }) {
    const found = await coverOf({ sql: app.sql, accountId: params.accountId! }, params.id!)
    // Its URL changes with it.
    return found ? { ...found, headers: { 'cache-control': 'public, max-age=31536000, immutable' } } : notFoundPage
  },
}

export const pages: readonly Page[] = [show, take, thank, calendar, picture]
