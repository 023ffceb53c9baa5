import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../lib/problem.ts'
import { html } from '../pages/html.ts'
import {
  document,
  fileHeaders,
  notFound,
  type Page,
  type PageAnswer,
  type PageView,
  pageHeaders,
} from '../pages/page.ts'
import { isUnavailable } from '../store/database.ts'
import type { App } from '../store/work.ts'
import { answerError, isBrokenOff } from './errors.ts'

/** Forms are small; what a mail client posts for a one-click unsubscription is smaller. */
const formLimit = 64 * 1024
/** What programs post: a payment provider's event. */
const programLimit = 1024 * 1024

const send = (page: Page, request: FastifyRequest, reply: FastifyReply, answer: PageAnswer) => {
  if ('redirect' in answer) {
    const headers = {
      'referrer-policy': 'no-referrer',
      'cache-control': 'private, no-store',
      'x-robots-tag': 'noindex',
    }
    return reply.headers(headers).redirect(answer.redirect, request.method === 'POST' ? 303 : 302)
  }
  if ('content' in answer) {
    return reply
      .code(answer.status ?? 200)
      .headers(fileHeaders(answer))
      .send(answer.content)
  }
  return reply
    .code(answer.status ?? 200)
    .headers(pageHeaders(answer, page.isFramed))
    .send(document(answer))
}

const failure = (status: number, sentence: string): PageView => ({
  status,
  title: sentence,
  body: html`<h1>${sentence}</h1><p>Please try again in a moment.</p>`,
})

const refusals: Partial<Record<Problem['kind'], number>> = {
  conflict: 409,
  limited: 429,
  forbidden: 403,
  upstream: 502,
}

const failureOf = (error: FastifyError | Problem, request: FastifyRequest): PageView => {
  if (isBrokenOff(error, request)) return failure(400, 'This page did not understand what was sent')
  if (error instanceof Problem && error.kind === 'configuration') return failure(500, 'Something went wrong')
  if (error instanceof Problem && error.kind === 'missing') return notFound
  if (error instanceof Problem && error.kind !== 'unavailable')
    return failure(refusals[error.kind] ?? 400, error.message)
  if (isUnavailable(error) || error instanceof Problem) return failure(503, 'This page is not available just now')
  if (error.statusCode === 413) return failure(413, 'That is more than this page takes')
  if (error.statusCode && error.statusCode < 500) return failure(400, 'This page did not understand what was sent')
  return failure(500, 'Something went wrong')
}

const isJson = (request: FastifyRequest): boolean => /^application\/json\b/i.test(request.headers['content-type'] ?? '')

/** What was posted, as the page takes it. */
const posted = ({ takes }: Page, request: FastifyRequest) => {
  const raw = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
  if (takes === 'json' && isJson(request)) {
    try {
      return { raw, form: {}, json: JSON.parse(raw.toString()) as unknown }
    } catch {
      throw new Problem('invalid', 'body must be valid JSON')
    }
  }
  // What else is posted is not looked at: some mail clients unsubscribe by multipart/form-data (RFC 8058 section 3.2).
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(request.headers['content-type'] ?? '')
  return { raw, json: undefined, form: isForm ? Object.fromEntries(new URLSearchParams(raw.toString())) : {} }
}

/** Adds the pages, each with its headers and frame; whatever fails in one is a page too, or for programs an `{ error }`. */
export const addPages = (server: FastifyInstance, app: App, pages: readonly Page[]): void => {
  server.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    // Browsers ask for it beside every page that may show pictures.
    scope.get('/favicon.ico', (_request, reply) =>
      reply.code(204).header('cache-control', 'public, max-age=86400').send(),
    )
    for (const page of pages) {
      scope.route({
        method: page.method,
        url: page.path,
        bodyLimit: page.takes === 'raw' ? programLimit : formLimit,
        // Looking at a page twice, or before it is opened, must be free of effects: HEAD is GET without its body.
        exposeHeadRoute: page.method === 'GET',
        errorHandler: (error: FastifyError | Problem, request, reply) => {
          if (page.takes === 'raw' || (page.takes === 'json' && isJson(request)))
            return answerError(error, request, reply)
          const view = failureOf(error, request)
          if (view.status === 500 || view.status === 502) request.log.error({ err: error }, 'page failed')
          if (error instanceof Problem && error.detail.retryAfterSeconds)
            reply.header('retry-after', String(error.detail.retryAfterSeconds))
          return send(page, request, reply, view)
        },
        handler: async (request, reply) => {
          if (page.isAt && !page.isAt(request.params as Record<string, string>)) return reply.callNotFound()
          const call = {
            app,
            method: request.method,
            params: request.params as Record<string, string>,
            query: Object.fromEntries(new URLSearchParams(request.url.split('?')[1])),
            headers: request.headers,
            address: request.ip,
            ...posted(page, request),
          }
          return send(page, request, reply, await page.handle(call))
        },
      })
    }
  })
}
