import { requireAdmission, requirePublicWrite } from '../../accounts/accounts.ts'
import { honeypotName } from '../../forms/forms.ts'
import { type Locale, timeText } from '../../lib/dates.ts'
import { recordOf } from '../../lib/file-faults.ts'
import { parse } from '../../lib/parse.ts'
import { conflict, notFound, Problem } from '../../lib/problem.ts'
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
} from '../../pages/page.ts'
import type { App } from '../../store/work.ts'
import { registerAttendees } from '../seats/seats.ts'
import { RegistrationBody } from '../sessions/sessions.ts'
import { findPublicWebinar, type PublicWebinar } from './register.ts'

/*
 * The page to register for a webinar (docs/reference/sessions.md#registration-page). Its answer does not depend on whether the
 * address is registered already.
 */

const style = `${formStyle}
.about { white-space: pre-line }
.fault { margin: 0 0 1rem }
`

const beginning = (at: Date, locale: Locale): Html =>
  html`<p>It begins on <time datetime="${at.toISOString()}">${timeText(at, locale)}</time>.</p>`

const about = ({ title, description, scheduledAt, locale }: PublicWebinar): Html =>
  html`<h1>${title}</h1>
${scheduledAt !== null && beginning(scheduledAt, locale)}
${description !== '' && html`<p class="about">${description}</p>`}`

const closedTexts: Partial<Record<PublicWebinar['status'], string>> = {
  ended: 'This session has ended.',
  cancelled: 'This session was cancelled.',
}

const closed = (webinar: PublicWebinar, text: string): PageView => ({
  status: 409,
  title: webinar.title,
  accountId: webinar.accountId,
  style,
  body: html`${about(webinar)}<p><strong>${text}</strong></p>`,
})

interface Entered {
  email: string
  name: string
  fault: string
}

const formPage = (webinar: PublicWebinar, entered?: Entered): PageView => ({
  status: entered ? 400 : 200,
  title: entered ? `Please check: ${webinar.title}` : webinar.title,
  accountId: webinar.accountId,
  style,
  body: html`${about(webinar)}
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
<button type="submit">Register</button>
</form>`,
})

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
    return text === undefined ? formPage(webinar) : closed(webinar, text)
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
    if (text !== undefined) return closed(webinar, text)
    const { email = '', name = '' } = form
    const thanks = { redirect: `${ownPath(app, `/webinar/${webinar.id}`)}/thanks` }
    if (form[honeypotName]) return thanks
    const checked = RegistrationBody.safeParse({ email, name })
    if (!checked.success) {
      const isName = checked.error.issues.every(({ path: [field] }) => field === 'name')
      return formPage(webinar, {
        email,
        name,
        fault: isName ? 'Please enter your name.' : 'Please enter an email address.',
      })
    }
    try {
      await register(app, webinar, checked.data)
    } catch (error) {
      if (error instanceof Problem && error.kind === 'not_found') return notFoundPage
      if (error instanceof Problem && error.kind === 'conflict') return closed(webinar, `${error.message}.`)
      throw error
    }
    return thanks
  },
}

const thank: Page = {
  method: 'GET',
  path: '/webinar/:id/thanks',
  async handle({ app, params }) {
    const webinar = await findPublicWebinar(app, params.id!)
    if (!webinar) return notFoundPage
    return {
      title: webinar.title,
      accountId: webinar.accountId,
      style,
      body: html`<h1>${webinar.title}</h1>
<p>Thank you. We have sent you an email: it says whether you have a seat, and has your link to join.</p>
<p class="quiet">If you had registered before, the email that you got then is still valid.</p>`,
    }
  },
}

export const pages: readonly Page[] = [show, take, thank]
