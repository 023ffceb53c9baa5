import type { Socket } from 'node:net'
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifySchemaCompiler,
  type FastifySerializerCompiler,
  LogController,
} from 'fastify'
import { z } from 'zod'
import { demandEmbedUnit, takeEmbedUnits } from '../accounts/accounts.ts'
import { newId } from '../lib/ids.ts'
import { invalid } from '../lib/problem.ts'
import { sentence } from '../lib/sentence.ts'
import type { Page } from '../pages/page.ts'
import { isUnavailable } from '../store/database.ts'
import { demandWritable, schemaFault, schemaState } from '../store/schema.ts'
import type { App, Work } from '../store/work.ts'
import { type Answered, logAtEnd, observeAnswers } from './answered.ts'
import { authenticate } from './auth.ts'
import { docsPage } from './docs.ts'
import { answerError } from './errors.ts'
import { addMetrics, type Metrics } from './metrics.ts'
import { type OpenApi, openApiOf } from './openapi.ts'
import { addPages } from './pages.ts'
import type { Answer, Route } from './route.ts'

export const apiPrefix = '/api/v1'
const megabyte = 1024 * 1024

/** A request whose headers and body are not here by then is refused. */
const requestTimeoutMs = 60_000

const refusals: Record<string, readonly [status: string, text: string]> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The headers are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request took too long to arrive'],
}

/** A malformed request never reaches a route: it is answered on the bare socket, in the same shape as every refusal. */
const answerMalformed = (error: Error & { code?: string }, socket: Socket) => {
  if (error.code === 'ECONNRESET' || !socket.writable) return socket.destroy()
  const [status, text] = refusals[error.code ?? ''] ?? ['400 Bad Request', 'The request is malformed']
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

/** An answer has exactly the properties of its shape; one that does not fit is a fault of ours. */
const serialize: FastifySerializerCompiler<z.ZodType> =
  ({ schema }) =>
  (data) =>
    JSON.stringify(z.encode(schema, data))

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

const addRoute = (server: FastifyInstance, app: App, route: Route) => {
  const family = route.path.split('/')[1]!
  const { params, query, body } = route
  server.route({
    method: route.method,
    url: apiPrefix + route.path,
    schema: {
      ...(params && { params }),
      ...(query && { querystring: query }),
      ...(body && { body }),
      response: route.answers,
    },
    ...(!route.isOpen && { onRequest: admission(app, route, family) }),
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

/** The document of the routes, for programs; made when it is first asked for. */
const addDocument = (server: FastifyInstance, document: () => OpenApi) => {
  server.get('/openapi.json', async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(JSON.stringify(document())),
  )
}

/**
 * Alive, and ready: `/readyz` is 503 while the database is away or takes no writes, its schema is behind or newer, or the server
 * drains. The states of this process's jobs do not change its status: the API serves without them.
 */
const addProbes = (
  server: FastifyInstance,
  app: App,
  isDraining: () => boolean,
  jobs: () => Readonly<Record<string, string>> | undefined,
) => {
  server.get('/healthz', async () => ({ status: 'ok' }))
  server.get('/readyz', async (request, reply) => {
    const refuse = (error: string) => reply.code(503).send({ error })
    if (isDraining()) return refuse('The service is stopping')
    try {
      const fault = schemaFault(await schemaState(app.database))
      if (fault) return refuse(fault.message)
      await demandWritable(app.database)
      return { status: 'ready', jobs: jobs() }
    } catch (error) {
      if (!isUnavailable(error)) request.log.error({ err: error }, 'readiness check failed')
      return refuse('The database is not available')
    }
  })
}

export interface Server {
  fastify: FastifyInstance
  /** Not ready from now on; new requests are answered 503, those in flight finish, or are cut off after `limitMs` (10,000). */
  drain(limitMs?: number): Promise<void>
}

/** What is told of the server, and what it tells: of each request once it is answered, metrics, how the jobs of the process are. */
export interface Watched {
  onAnswered?: ((answered: Answered) => void) | undefined
  metrics?: Metrics | undefined
  jobs?: () => Readonly<Record<string, string>> | undefined
}

/** The API of all `routes` and the `pages`, not yet listening. */
export const buildServer = async (
  app: App,
  routes: readonly Route[],
  logger: FastifyBaseLogger,
  pages: readonly Page[] = [],
  { onAnswered, metrics, jobs = () => undefined }: Watched = {},
): Promise<Server> => {
  let draining = false
  const server = fastify({
    loggerInstance: logger,
    genReqId: () => newId('log', Date.now()).replace('log_', 'req_'),
    // Its own lines name addresses with their queries; ours is logAtEnd's.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: 8 * megabyte,
    requestTimeout: requestTimeoutMs,
    http: { connectionsCheckingInterval: 1000 },
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
  // Fastify refuses it before it looks for a route; none takes it.
  server.addHttpMethod('QUERY', { overrideExisting: true })
  addBodyParsers(server)
  server.setValidatorCompiler(validate)
  server.setSerializerCompiler(serialize)
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
  if (metrics) addMetrics(server, metrics, app.config.metricsToken)
  // A connection kept alive by its client would hold up the stop.
  server.addHook('onSend', async (_request, reply) => {
    if (draining) reply.header('connection', 'close')
  })
  let made: OpenApi | undefined
  const document = () => {
    made ??= openApiOf(routes, app.config.publicUrl)
    return made
  }
  server.after(() => {
    for (const route of routes) addRoute(server, app, route)
    addProbes(server, app, () => draining, jobs)
    // Without routes there are probes and metrics alone.
    if (routes.length > 0) addDocument(server, document)
    addPages(server, app, routes.length > 0 ? [...pages, docsPage(document)] : pages)
  })
  addNotFound(server, routes)
  await server.ready()
  return {
    fastify: server,
    async drain(limitMs = 10_000) {
      draining = true
      const cut = setTimeout(() => server.server.closeAllConnections(), limitMs)
      await server.close().finally(() => clearTimeout(cut))
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
