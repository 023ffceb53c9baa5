import { requireAdmission, requirePublicWrite } from '../accounts/accounts.ts'
import { recordOf } from '../lib/file-faults.ts'
import { invalid, notFound, Problem } from '../lib/problem.ts'
import {
  formBytes,
  json,
  notFoundPage,
  ownPath,
  type Page,
  type PageAnswer,
  type PageCall,
  tooLarge,
} from '../pages/page.ts'
import {
  answerMaxLength,
  confirmSignup,
  findPublicForm,
  type PublicForm,
  readSignup,
  readSubmission,
  requireSubmission,
  type SignupStatus,
  type Submission,
  submitForm,
} from './forms.ts'
import { closedPage, confirmedPage, formPage, noForm, questionPage, thanksPage } from './forms.views.ts'

/*
 * The pages of signup forms (docs/reference/pages.md#signup-forms): the form, its submissions by browsers and by scripts, and the
 * confirmation link.
 */

const path = '/f/:id'

const accountOf: Page['accountOf'] = async (app, { id }) => (await findPublicForm(app, id!))?.accountId ?? null

/** Returns CORS headers: only scripts on the form's allowed sites may read the answers. */
const corsHeaders = (form: PublicForm | null, origin: unknown): Record<string, string> => ({
  vary: 'Origin',
  ...(typeof origin === 'string' && form?.origins.includes(origin) && { 'access-control-allow-origin': origin }),
})

const show: Page = {
  method: 'GET',
  path,
  accountOf,
  async handle({ app, params }) {
    const form = await findPublicForm(app, params.id!)
    return form ? { ...formPage(form), accountId: form.accountId } : noForm
  },
}

const preflight: Page = {
  method: 'OPTIONS',
  path,
  async handle({ app, params, headers }) {
    const allowed = corsHeaders(await findPublicForm(app, params.id!), headers.origin)
    const isAllowed = 'access-control-allow-origin' in allowed
    const how = {
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'content-type',
      'access-control-max-age': '600',
    }
    return { type: 'text/plain', content: '', status: 204, headers: { ...allowed, ...(isAllowed && how) } }
  },
}

const count = async ({ app, address }: PageCall) => {
  await requireAdmission(app.sql, 'forms', address, app.config.rateLimitForms)
  await requirePublicWrite(app.sql, { address, limit: app.config.rateLimitPublic })
}

const submit = ({ app }: PageCall, { accountId, id }: PublicForm, submission: Submission): Promise<SignupStatus> =>
  submitForm(app, { accountId, actor: 'page:form' }, id, submission)

/** Returns the submitted values: `email` beside the fields, or the fields in an object `fields`, as in the API. */
const givenOf = (body: unknown): Record<string, unknown> => {
  const record = recordOf(body)
  if (!record) throw invalid('body must be a JSON object')
  return { ...recordOf(record.fields), ...record }
}

const answerScript = async (call: PageCall, form: PublicForm | null): Promise<PageAnswer> => {
  await count(call)
  if (!form) throw notFound('There is no such form')
  const status = await submit(call, form, requireSubmission(form, givenOf(call.json)))
  return json(200, { ok: true, status }, corsHeaders(form, call.headers.origin))
}

const answerBrowser = async (call: PageCall, form: PublicForm | null): Promise<PageAnswer> => {
  await count(call)
  const lengths = form?.fields.map(({ type }) => answerMaxLength(type)) ?? []
  if (call.raw.length > formBytes(lengths)) return tooLarge
  if (!form) return noForm
  const { submission, faults } = readSubmission(form, call.form, { isWhole: true })
  const { accountId } = form
  if (!submission) return { ...formPage(form, { values: call.form, faults }), accountId }
  try {
    const status = await submit(call, form, submission)
    return { redirect: `${ownPath(call.app, `/f/${form.id}`)}/thanks${status === 'pending' ? '?status=pending' : ''}` }
  } catch (error) {
    if (error instanceof Problem && error.kind === 'not_found') return noForm
    if (error instanceof Problem && error.kind === 'conflict') return { ...closedPage(form.name), accountId }
    throw error
  }
}

const take: Page = {
  method: 'POST',
  path,
  accountOf,
  takes: 'json',
  limited: 'self',
  isLarge: true,
  failureHeaders: async (app, { params, headers }) =>
    corsHeaders(await findPublicForm(app, params.id!), headers.origin),
  async handle(call) {
    const form = await findPublicForm(call.app, call.params.id!)
    return call.json === undefined ? answerBrowser(call, form) : answerScript(call, form)
  },
}

const thank: Page = {
  method: 'GET',
  path: '/f/:id/thanks',
  accountOf,
  async handle({ app, params, query }) {
    const form = await findPublicForm(app, params.id!)
    if (!form) return noForm
    const status = query.status === 'pending' ? 'pending' : 'active'
    return { ...thanksPage(form.name, status), accountId: form.accountId }
  },
}

const confirmPath = '/f/confirm/:token'

const ask: Page = {
  method: 'GET',
  path: confirmPath,
  token: 'confirm',
  async handle({ app, params }) {
    const signup = await readSignup(app, params.token!)
    if (!signup) return notFoundPage
    return signup.formName === null ? confirmedPage(signup) : questionPage(signup)
  },
}

const confirm: Page = {
  method: 'POST',
  path: confirmPath,
  token: 'confirm',
  async handle({ app, params, address }) {
    const signup = await readSignup(app, params.token!)
    if (!signup) return notFoundPage
    const kept = app.config.consentAddresses ? address : null
    if (signup.formName !== null)
      await app.work(signup.accountId, 'page:confirm', (work) => confirmSignup(work, signup, { address: kept }))
    return confirmedPage(signup)
  },
}

export const pages: readonly Page[] = [show, preflight, take, thank, ask, confirm]
