import type { FastifyError, FastifyInstance, FastifyReply } from 'fastify'
import { Problem } from '../lib/problem.ts'
import { html } from '../pages/html.ts'
import { document, notFound, type Page, type PageView, pageHeaders } from '../pages/page.ts'
import { isUnavailable } from '../store/database.ts'
import type { App } from '../store/work.ts'

/** Forms are small; what a mail client posts for a one-click unsubscription is smaller. */
const formLimit = 64 * 1024

const show = (reply: FastifyReply, view: PageView) =>
  reply
    .code(view.status ?? 200)
    .headers(pageHeaders)
    .send(document(view))

const failure = (status: number, sentence: string): PageView => ({
  status,
  title: sentence,
  body: html`<h1>${sentence}</h1><p>Please try again in a moment.</p>`,
})

const failureOf = (error: FastifyError | Problem): PageView => {
  if (error instanceof Problem && error.kind === 'missing') return notFound
  if (error instanceof Problem && error.kind !== 'unavailable') return failure(400, error.message)
  if (isUnavailable(error) || error instanceof Problem) return failure(503, 'This page is not available just now')
  if (error.statusCode === 413) return failure(413, 'That is more than this page takes')
  if (error.statusCode && error.statusCode < 500) return failure(400, 'This page did not understand what was sent')
  return failure(500, 'Something went wrong')
}

/** Adds the pages, each with its headers and frame; whatever fails in one is a page too. */
export const addPages = (server: FastifyInstance, app: App, pages: readonly Page[]): void => {
  server.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: formLimit },
      (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(body as string))),
    )
    // What else is posted is not looked at: some mail clients unsubscribe by multipart/form-data (RFC 8058 section 3.2).
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: formLimit }, (_request, _body, done) =>
      done(null, {}),
    )
    scope.setErrorHandler((error: FastifyError | Problem, request, reply) => {
      const view = failureOf(error)
      if (view.status === 500) request.log.error({ err: error }, 'page failed')
      return show(reply, view)
    })
    for (const page of pages) {
      scope.route({
        method: page.method,
        url: page.path,
        schema: { hide: true },
        // Looking at a page twice, or before it is opened, must be free of effects: HEAD is GET without its body.
        exposeHeadRoute: page.method === 'GET',
        handler: async (request, reply) => {
          const params = request.params as Record<string, string>
          const form = (request.body ?? {}) as Record<string, string>
          return show(reply, await page.handle({ app, params, form }))
        },
      })
    }
  })
}
