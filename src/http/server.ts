import type { Socket } from 'node:net'
import fastify, {
  type FastifyBaseLogger,
  type FastifyContextConfig,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifySchemaCompiler,
  LogController,
} from 'fastify'
import { serializerCompiler } from 'fastify-type-provider-zod'
import type { z } from 'zod'
import { demandEmbedUnit, takeEmbedUnits } from '../accounts/accounts.ts'
import { newId } from '../lib/ids.ts'
import { invalid } from '../lib/problem.ts'
import { sentence } from '../lib/sentence.ts'
import type { Page } from '../pages/page.ts'
import { isUnavailable } from '../store/database.ts'
import { schemaFault, schemaState } from '../store/schema.ts'
import type { App, Work } from '../store/work.ts'
import { type Answered, logAtEnd, observeAnswers } from './answered.ts'
import { authenticate } from './auth.ts'
import { answerError } from './errors.ts'
import { describe } from './openapi.ts'
import { addPages } from './pages.ts'
import type { Answer, Route } from './route.ts'

export const apiPrefix = '/api/v1'
const megabyte = 1024 * 1024

/** A malformed request never reaches a route: it is answered on the bare socket, in the same shape as every refusal. */
const answerMalformed = (error: Error & { code?: string }, socket: Socket) => {
  if (error.code === 'ECONNRESET' || !socket.writable) return socket.destroy()
  const [status, text] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', 'The headers are too large']
      : ['400 Bad Request', 'The request is malformed']
  const body = JSON.stringify({ error: text })
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}

const limitOf = (app: App, family: string) =>
  family === 'webhooks' ? app.config.rateLimitWebhooks : app.config.rateLimit

/** Checks by the zod schema of the route; what it refuses is a Problem with one sentence that names the field. */
const validate: FastifySchemaCompiler<z.ZodType> =
  ({ schema, httpPart }) =>
  (data) => {
    const checked = schema.safeParse(data)
    return checked.success ? { value: checked.data } : { error: invalid(sentence(checked.error.issues, httpPart)) }
  }

const send = (reply: FastifyReply, { status, headers = {}, body }: Answer) =>
  reply.code(status).headers(headers).send(body)

/** JSON alone, everything else is 415; where a route takes no body, what a client sends with its call is passed over. */
const addBodyParsers = (server: FastifyInstance) => {
  const takesBody = (request: FastifyRequest) => request.routeOptions.schema?.body !== undefined
  const json = server.getDefaultJsonParser('error', 'error')
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) =>
    takesBody(request) ? json(request, body as string, done) : done(null),
  )
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (request, _body, done) =>
    done(takesBody(request) ? Object.assign(new Error(), { code: 'FST_ERR_CTP_INVALID_MEDIA_TYPE' }) : null),
  )
}

/** The first segment of its path, which the rate limit counts by. */
const familyOf = (route: Route): string => route.path.split('/')[1]!

/** 401 and the key's limit, then the plan's: all of them before any look at the body. */
const admission = (app: App, route: Route, family: string) => {
  const key = authenticate(app, family, limitOf(app, family))
  if (!route.quota) return key
  return [key, (request: FastifyRequest) => demandEmbedUnit(app, request.caller!.accountId)]
}

const counted =
  <T>(run: (work: Work) => Promise<T>) =>
  async (work: Work): Promise<T> => {
    const result = await run(work)
    await takeEmbedUnits(work, 1)
    return result
  }

/** What the document and the server say alike of a route. */
const described = (route: Route) => {
  const { params, query, body } = route
  return {
    method: route.method,
    url: apiPrefix + route.path,
    schema: {
      summary: route.summary,
      tags: [familyOf(route)],
      ...(params && { params }),
      ...(query && { querystring: query }),
      ...(body && { body }),
      response: route.answers,
    },
    config: { refusals: route.refusals ?? [], isOpen: route.isOpen === true } as FastifyContextConfig,
  }
}

/** The OpenAPI document of routes, as `/openapi.json` has it, without an app. */
export const openApiDocument = async (routes: readonly Route[], publicUrl: string): Promise<object> => {
  const server = fastify() as unknown as FastifyInstance
  server.setValidatorCompiler(validate)
  server.setSerializerCompiler(serializerCompiler)
  await describe(server, publicUrl)
  server.after(() => {
    for (const route of routes) server.route({ ...described(route), handler: (_, reply) => reply.code(501).send() })
  })
  await server.ready()
  return server.swagger()
}

const addRoute = (server: FastifyInstance, app: App, route: Route) => {
  server.route({
    ...described(route),
    ...(!route.isOpen && { onRequest: admission(app, route, familyOf(route)) }),
    ...(route.replay && {
      preValidation: async (request, reply) => {
        const answer = await route.replay!({ app, caller: request.caller!, headers: request.headers })
        if (answer) return send(reply, answer)
      },
    }),
    handler: async (request, reply) => {
      // Of an open route, whose handler knows neither, there is no caller.
      const caller = request.caller!
      const answer = await route.handle({
        app,
        caller,
        params: request.params,
        query: request.query,
        body: request.body,
        headers: request.headers,
        work: (run) => app.work(caller.accountId, `key:${caller.keyId}`, route.quota ? counted(run) : run),
      })
      return send(reply, answer)
    },
  })
}

/**
 * Alive, and ready: `/readyz` says no while the database is away, its schema behind or newer, or the server draining. How the
 * jobs of this process are it only tells: the API serves without them.
 */
const addProbes = (
  server: FastifyInstance,
  app: App,
  isDraining: () => boolean,
  jobs: () => Readonly<Record<string, string>> | undefined,
) => {
  server.get('/healthz', { schema: { hide: true } }, async () => ({ status: 'ok' }))
  server.get('/readyz', { schema: { hide: true } }, async (request, reply) => {
    const refuse = (error: string) => reply.code(503).send({ error })
    if (isDraining()) return refuse('The service is stopping')
    try {
      const fault = schemaFault(await schemaState(app.database))
      return fault ? refuse(fault.message) : { status: 'ready', jobs: jobs() }
    } catch (error) {
      if (!isUnavailable(error)) request.log.error({ err: error }, 'readiness check failed')
      return refuse('The database is not available')
    }
  })
}

export interface Server {
  fastify: FastifyInstance
  /** Not ready from now on; new requests are answered 503, those in flight finish. Resolves when they have. */
  drain(): Promise<void>
}

/** The API of all `routes` and the `pages`, not yet listening. `onAnswered` hears of each request once it is answered; `jobs` tells how those of the process are. */
export const buildServer = async (
  app: App,
  routes: readonly Route[],
  logger: FastifyBaseLogger,
  pages: readonly Page[] = [],
  onAnswered?: (answered: Answered) => void,
  jobs: () => Readonly<Record<string, string>> | undefined = () => undefined,
): Promise<Server> => {
  let draining = false
  const server = fastify({
    loggerInstance: logger,
    genReqId: () => newId('log', Date.now()).replace('log_', 'req_'),
    // Its own lines name addresses with their queries; ours is logAtEnd's.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: 8 * megabyte,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 500 },
    trustProxy: [...app.config.trustProxy],
    frameworkErrors: (error, request, reply) => {
      // Such a request comes past every hook.
      logAtEnd(request, reply)
      answerError(error, request, reply)
    },
    clientErrorHandler: answerMalformed as never,
  }) as unknown as FastifyInstance
  addBodyParsers(server)
  server.setValidatorCompiler(validate)
  server.setSerializerCompiler(serializerCompiler)
  server.setErrorHandler(answerError)
  server.decorateRequest('caller', null)
  server.addHook('onRequest', async (request, reply) => {
    logAtEnd(request, reply)
    reply.header('x-request-id', request.id)
    if (!draining || request.url === '/healthz' || request.url === '/readyz') return
    reply.header('connection', 'close')
    return reply.code(503).send({ error: 'The service is stopping' })
  })
  if (onAnswered) observeAnswers(server, onAnswered)
  // A connection kept alive by its client would hold up the stop.
  server.addHook('onSend', async (_request, reply) => {
    if (draining) reply.header('connection', 'close')
  })
  await describe(server, app.config.publicUrl)
  server.after(() => {
    for (const route of routes) addRoute(server, app, route)
    addProbes(server, app, () => draining, jobs)
    addPages(server, app, pages)
  })
  addNotFound(server, routes)
  await server.ready()
  return {
    fastify: server,
    async drain() {
      draining = true
      await server.close()
    },
  }
}

/** A known path with another method is 405 with `Allow`; everything else is 404. Neither asks for a key. */
const addNotFound = (server: FastifyInstance, routes: readonly Route[]) => {
  const known = routes.map((route) => ({
    method: route.method,
    pattern: new RegExp(`^${apiPrefix}${route.path.replace(/:[^/]+/g, '[^/]+')}$`),
  }))
  server.setNotFoundHandler((request, reply) => {
    reply.header('x-request-id', request.id)
    const path = request.url.split('?')[0]!
    const methods = known.filter((k) => k.pattern.test(path)).map((k) => k.method)
    if (methods.length === 0) return reply.code(404).send({ error: 'Not found' })
    return reply
      .code(405)
      .header('allow', methods.join(', '))
      .send({ error: `Method ${request.method} is not allowed here` })
  })
}
