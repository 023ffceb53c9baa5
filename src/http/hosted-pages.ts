import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { accountOfSlug, type Brand, readBrand, requireHere, requirePublicWrite } from '../accounts/accounts.ts'
import { notFound, Problem } from '../lib/problem.ts'
import { plainAddress } from '../net/addresses.ts'
import {
  document,
  failurePage,
  fileHeaders,
  largeForm,
  noPage,
  notFoundPage,
  ownPath,
  type Page,
  type PageAnswer,
  type PageView,
  pageHeaders,
  tooLarge,
} from '../pages/page.ts'
import { isUnavailable } from '../store/database.ts'
import type { App } from '../store/work.ts'
import { bodyLimits, isJson } from './bodies.limits.ts'
import { refusalOfCoding, textOf } from './bodies.parse.ts'
import { type ReadBody, timeoutCode } from './bodies.ts'
import { answerError, isAborted, unavailableSeconds } from './errors.ts'

interface Asked {
  app: App
  page: Page
  request: FastifyRequest
  reply: FastifyReply
  /** The account that the page's token names. */
  accountId: string | undefined
}

/** Returns the brand of the account that a page belongs to, or null if it has no account or the database is unavailable. */
const brandOf = async ({ app, page, request, accountId }: Asked, view: PageView) => {
  try {
    const id =
      view.accountId ?? accountId ?? (await page.accountOf?.(app, request.params as Record<string, string>)) ?? null
    return id === null ? null : await readBrand({ sql: app.sql, accountId: id })
  } catch (error) {
    const isShownWithout = view.status === 503 || view.status === 410
    if (isShownWithout && (error instanceof Problem || isUnavailable(error))) return null
    throw error
  }
}

const send = async (asked: Asked, answer: PageAnswer) => {
  const { app, page, request, reply } = asked
  if ('redirect' in answer) {
    const headers = {
      'referrer-policy': 'no-referrer',
      'cache-control': 'private, no-store',
      'x-robots-tag': 'noindex',
    }
    // A header holds ASCII only.
    const location = URL.parse(answer.redirect)?.href ?? answer.redirect
    return reply.headers(headers).redirect(location, request.method === 'POST' ? 303 : 302)
  }
  if ('content' in answer) {
    return reply
      .code(answer.status ?? 200)
      .headers(fileHeaders(answer))
      .send(answer.content)
  }
  const brand = await brandOf(asked, answer)
  return reply
    .code(answer.status ?? 200)
    .headers(pageHeaders(answer, page.isFramed, brand))
    .send(document(answer, brand, ownPath(app, '')))
}

/** What a visitor can do, by status. For others the same request can succeed later. */
const advices: Readonly<Record<number, string>> = {
  400: 'Please go back and check what you entered.',
  403: 'Please go back to where you came from.',
  409: 'Please go back to where you came from.',
}

const failure = (status: number, sentence: string): PageView =>
  failurePage(status, sentence, advices[status] ?? 'Please try again in a moment.')

const moved: PageView = failurePage(410, 'This page has moved', 'Please ask its owner for the new address.')

const refusals: Partial<Record<Problem['kind'], number>> = {
  conflict: 409,
  limited: 429,
  forbidden: 403,
  upstream: 502,
}

const failureOf = (error: FastifyError | Problem, request: FastifyRequest): PageView => {
  if (isAborted(error, request)) return failure(400, 'This page can’t read the request')
  if (error instanceof Problem && (error.kind === 'configuration' || error.kind === 'internal'))
    return failure(500, 'Something went wrong')
  if (error instanceof Problem && error.kind === 'not_found') return notFoundPage
  if (error instanceof Problem && error.kind === 'gone') return moved
  if (error instanceof Problem && error.kind !== 'unavailable')
    return failure(refusals[error.kind] ?? 400, error.message)
  if (isUnavailable(error) || error instanceof Problem) return failure(503, 'This page is not available just now')
  if (error.code === timeoutCode) return failure(408, 'The request took too long to arrive')
  if (error.statusCode === 413) return tooLarge
  if (error.statusCode && error.statusCode < 500) return failure(400, 'This page can’t read the request')
  return failure(500, 'Something went wrong')
}

/** Ten times more than any form has. Parsing 250,000 fields in 512 KB would take seconds. */
const maxFields = 1_000
const ampersand = 0x26

/** Returns an upper bound of the number of fields in a form's body. */
const countFields = (raw: Buffer): number => {
  let count = 1
  for (let at = raw.indexOf(ampersand); at >= 0 && count <= maxFields; at = raw.indexOf(ampersand, at + 1)) count++
  return count
}

/** Returns the pages that a URL matches. Its parameters can be malformed. */
export const pagesAt = (pages: readonly Page[], url: string): Page[] => {
  const parts = url.split('?')[0]!.split('/')
  return pages.filter(({ path, isAt }) => {
    const own = path.split('/')
    const isMatch = own.length === parts.length && own.every((part, i) => part.startsWith(':') || part === parts[i])
    return isMatch && (!isAt || isAt(Object.fromEntries(own.map((part, i) => [part.slice(1), parts[i]!]))))
  })
}

/** Returns the brand of the account whose slug is the first segment of a path, or null if there is none. */
const brandOfSlug = async (app: App, path: string): Promise<Brand | null> => {
  try {
    const accountId = await accountOfSlug(app, path.split('/')[1]!)
    return accountId === null ? null : await readBrand({ sql: app.sql, accountId })
  } catch (error) {
    if (error instanceof Problem || isUnavailable(error)) return null
    throw error
  }
}

/** Answers a request that reached no route with a page. Below the slug of an account it shows its brand. */
export const answerNoRoute = async (app: App, request: FastifyRequest, reply: FastifyReply, view = noPage) => {
  const brand = await brandOfSlug(app, request.url.split('?')[0]!)
  return reply
    .header('x-request-id', request.id)
    .code(view.status!)
    .headers(pageHeaders(view, false, brand))
    .send(document(view, brand, ownPath(app, '')))
}

/** Returns the texts of a JSON object, as the fields of a form. It is empty for another body. */
const textsOf = (raw: Buffer): Record<string, string> => {
  try {
    const body = JSON.parse(textOf(raw)) as unknown
    const entries = typeof body === 'object' && body !== null ? Object.entries(body) : []
    return Object.fromEntries(entries.filter(([, value]) => typeof value === 'string').slice(0, maxFields))
  } catch {
    return {}
  }
}

/** Parses the body in the form that the page `takes`. */
const readPost = ({ takes }: Page, request: FastifyRequest) => {
  const raw = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
  if (takes === 'json' && isJson(request)) {
    const refusal = refusalOfCoding(request)
    if (refusal) throw refusal
    const text = textOf(raw)
    try {
      return { raw, form: {}, json: JSON.parse(text) as unknown }
    } catch {
      throw new Problem('invalid', 'body must be valid JSON')
    }
  }
  if (!takes && isJson(request)) return { raw, json: undefined, form: textsOf(raw) }
  // Other bodies are ignored: some mail clients unsubscribe with multipart/form-data (RFC 8058 section 3.2).
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(request.headers['content-type'] ?? '')
  if (isForm && countFields(raw) > maxFields) throw new Problem('invalid', 'The form has too many fields')
  return { raw, json: undefined, form: isForm ? Object.fromEntries(new URLSearchParams(raw.toString())) : {} }
}

/** Returns the headers of a failure for a program. While the database is unavailable, they are those of every file. */
const programHeaders = async (app: App, page: Page, { params, headers }: FastifyRequest) => {
  const own = await page.failureHeaders?.(app, { params: params as Record<string, string>, headers }).catch(() => ({}))
  return fileHeaders({ type: 'application/json; charset=utf-8', content: '', headers: own ?? {} })
}

/** Counts a write by its client and the token in its path. */
const admitWrite = async (app: App, page: Page, request: FastifyRequest) => {
  if (page.method !== 'POST' || page.limited) return
  const { token } = request.params as { token?: string }
  await requirePublicWrite(app.sql, { address: request.ip, token, limit: app.config.rateLimitPublic })
}

/** Adds the pages with their headers and frame. Failures are pages too, except for programs: they get `{ error }`. */
export const addPages = (server: FastifyInstance, app: App, pages: readonly Page[], readBody: ReadBody): void => {
  server.register(async (scope) => {
    const subjects = new WeakMap<FastifyRequest, readonly string[]>()
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', async (request: FastifyRequest, payload: NodeJS.ReadableStream) =>
      (await readBody(request, payload)).whole(),
    )
    // Browsers request it for every page that can show images.
    scope.get('/favicon.ico', (_request, reply) =>
      reply.code(204).header('cache-control', 'public, max-age=86400').send(),
    )
    for (const page of pages) {
      scope.route({
        method: page.method,
        url: page.path,
        bodyLimit: page.isLarge ? largeForm : bodyLimits.open,
        // GET has no effects, so HEAD can run the same handler: link scanners use it.
        exposeHeadRoute: page.method === 'GET',
        errorHandler: async (error: FastifyError | Problem, request, reply) => {
          if (page.takes === 'raw' || (page.takes === 'json' && isJson(request))) {
            reply.headers(await programHeaders(app, page, request))
            return answerError(error, request, reply)
          }
          const view = failureOf(error, request)
          if (view.status === 500 || view.status === 502) request.log.error({ err: error }, 'page failed')
          if (error instanceof Problem && error.detail.retryAfterSeconds)
            reply.header('retry-after', String(error.detail.retryAfterSeconds))
          else if (view.status === 503) reply.header('retry-after', unavailableSeconds)
          return send({ app, page, request, reply, accountId: subjects.get(request)?.[0] }, view)
        },
        onRequest: async (request) => {
          if (page.isAt && !page.isAt(request.params as Record<string, string>)) return
          if (page.token) {
            const { token = '' } = request.params as { token?: string }
            const subject = app.tokens.read(page.token, token, app.now().getTime())
            if (!subject) throw notFound(notFoundPage.title)
            // What each kind of token names begins with the account.
            await requireHere(app, subject[0]!)
            subjects.set(request, subject)
          }
          await admitWrite(app, page, request)
        },
        handler: async (request, reply) => {
          if (page.isAt && !page.isAt(request.params as Record<string, string>)) return reply.callNotFound()
          const call = {
            app,
            method: request.method,
            params: request.params as Record<string, string>,
            subject: subjects.get(request) ?? [],
            query: Object.fromEntries(new URLSearchParams(request.url.split('?')[1])),
            headers: request.headers,
            address: plainAddress(request.ip),
            ...readPost(page, request),
          }
          const token = page.tokenField && new Map(Object.entries(call.form)).get(page.tokenField)
          if (token) await requirePublicWrite(app.sql, { token, limit: app.config.rateLimitPublic })
          const accountId = subjects.get(request)?.[0]
          return send({ app, page, request, reply, accountId }, await page.handle(call))
        },
      })
    }
  })
}
