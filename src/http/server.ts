/*
 * The HTTP server. route.ts has routes as data, hosted-pages.ts serves pages, auth.ts checks keys and rate limits,
 * bodies.*.ts read and parse bodies, load.ts limits requests, openapi.*.ts make the document, docs.*.ts `/docs`,
 * answered.ts the log of requests.
 */

import type { Socket } from 'node:net'
import fastify, {
  errorCodes,
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifySchemaCompiler,
  type FastifySerializerCompiler,
  LogController,
} from 'fastify'
import { z } from 'zod'
import { noteUse, requireEmbedUnit, requirePublicWrite, scopesOf, takeEmbedUnits } from '../accounts/accounts.ts'
import { newId } from '../lib/ids.ts'
import { invalid } from '../lib/problem.ts'
import { sentence } from '../lib/sentence.ts'
import { isListed, parseCidrs, plainAddress } from '../net/addresses.ts'
import { type Page, wrongMethod } from '../pages/page.ts'
import { readHeld } from '../queue/holds.ts'
import { isUnavailable } from '../store/database.ts'
import { requireWritable, schemaProblem, schemaState } from '../store/schema.ts'
import type { App, Work } from '../store/work.ts'
import { logAtEnd, type OnAnswered, observeAnswers } from './answered.ts'
import { authenticate } from './auth.ts'
import { bodyLimits, isJson } from './bodies.limits.ts'
import { addBodyParsers } from './bodies.parse.ts'
import { createBodyReader, endsConnection } from './bodies.ts'
import { docsPage, llmsPage } from './docs.ts'
import { answerError, unavailableSeconds } from './errors.ts'
import { addPages, answerNoRoute, pagesAt } from './hosted-pages.ts'
import { limitLoad } from './load.ts'
import { addMetrics, type Metrics } from './metrics.ts'
import { type OpenApi, openApiOf } from './openapi.ts'
import type { Answer, Route } from './route.ts'

// An import of node:http reads its property WebSocket, which loads Node's own undici: 25 ms of CPU time.
const { maxHeaderSize } = process.getBuiltinModule('node:http')

const apiPrefix = '/api/v1'

/** Time limit for the headers and body of a request. */
const requestTimeoutMs = 60_000

const malformed = 'The request is malformed'

const refusals: Record<string, readonly [status: string, text: string]> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The headers are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request took too long to arrive'],
}

const newRequestId = (): string => newId('log', Date.now()).replace('log_', 'req_')

/** Answers a malformed request, which reaches no route, on the socket, with the same JSON as other refusals. */
const answerMalformed = (error: Error & { code?: string }, socket: Socket) => {
  if (error.code === 'ECONNRESET' || !socket.writable) return socket.destroy()
  const [status, text] = refusals[error.code ?? ''] ?? ['400 Bad Request', malformed]
  const body = JSON.stringify({ error: text })
  socket.end(
    `HTTP/1.1 ${status}\r\nX-Request-Id: ${newRequestId()}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}

const countHosts = ({ rawHeaders }: FastifyRequest['raw']): number =>
  rawHeaders.filter((name, i) => i % 2 === 0 && name.length === 4 && /^host$/i.test(name)).length

/**
 * Refuses what Node's server would refuse with an empty body or none: HTTP/1.1 without `Host`, an expectation other than
 * `100-continue`, and CONNECT. And what it would accept: a second `Host` (RFC 9112, section 3.2).
 */
const refuseUnmet = (server: FastifyInstance): void => {
  server.server.on('connect', (_request, socket: Socket) => {
    // Node has stopped listening to the socket.
    socket.on('error', () => socket.destroy())
    answerMalformed(new Error('CONNECT'), socket)
    socket.destroySoon()
  })
  server.server.on('checkExpectation', (request, response) => void server.server.emit('request', request, response))
  server.addHook('onRequest', async ({ headers: { expect }, raw }, reply) => {
    const hosts = countHosts(raw)
    if (hosts > 1 || (hosts === 0 && raw.httpVersion === '1.1')) return reply.code(400).send({ error: malformed })
    if (expect !== undefined && !/^100-continue$/i.test(expect))
      return reply.code(417).send({ error: 'Expect can only be 100-continue' })
  })
}

const limitOf = (app: App, family: string) =>
  family === 'webhooks' ? app.config.rateLimitWebhooks : app.config.rateLimit

/** Validates with the route's zod schema. Throws a Problem whose message names the field. */
const validate: FastifySchemaCompiler<z.ZodType> =
  ({ schema, httpPart }) =>
  (data) => {
    const checked = schema.safeParse(data)
    if (checked.success) return { value: checked.data }
    // Fastify reads a parameter that is given twice as an array, which no parameter is.
    const { issues } = checked.error
    const names = httpPart === 'querystring' ? issues.map(({ path }) => String(path[0])) : []
    const repeated = names.find((name) => Array.isArray(data[name]))
    return { error: invalid(repeated ? `${repeated} must be given only once` : sentence(issues, httpPart)) }
  }

/** Sends exactly the properties of the schema. A response that does not match is an unexpected error. */
const serialize: FastifySerializerCompiler<z.ZodType> =
  ({ schema }) =>
  (data) =>
    JSON.stringify(z.encode(schema, data))

/** Stands for Fastify's own compilers: without it, Fastify loads Ajv and fast-json-stringify, which takes 50 ms of CPU time. */
const noCompiler = (): never => {
  throw new Error('Fastify asked for a compiler of its own')
}

const send = (reply: FastifyReply, { status, headers = {}, body }: Answer) =>
  reply.code(status).headers(headers).send(body)

/** Hooks that run before the body is read: authentication, rate limit and scope, then the plan's quota, then the route's own check. */
const admissionHooks = (app: App, route: Route, family: string) => {
  const { quota, replay } = route
  return [
    authenticate(app, family, limitOf(app, family), scopesOf(route), route.callQuotas ?? []),
    ...(quota ? [(request: FastifyRequest) => requireEmbedUnit(app, request.caller!.accountId)] : []),
    ...(replay
      ? [
          async (request: FastifyRequest, reply: FastifyReply) => {
            const answer = await replay({ app, caller: request.caller!, headers: request.headers })
            if (answer) return send(reply, answer)
          },
        ]
      : []),
  ]
}

/** Statuses of calls that are refused because of their key or its plan: they don't count as a use of the key. */
const refusing = [401, 403, 429]

const noteKeyUse =
  (app: App) =>
  async ({ caller }: FastifyRequest, { statusCode }: FastifyReply) => {
    if (caller && statusCode < 500 && !refusing.includes(statusCode)) noteUse(app, caller.keyId)
  }

const countingUse =
  <T>(run: (work: Work) => Promise<T>) =>
  async (work: Work): Promise<T> => {
    const result = await run(work)
    await takeEmbedUnits(work, 1)
    return result
  }

/** Verifies the token of an open route, then counts the call if it writes. */
const admitOpen = (app: App, route: Route) => async (request: FastifyRequest) => {
  route.authorize?.({ app, params: request.params })
  if (route.method === 'GET') return
  const { token } = request.params as { token?: string }
  await requirePublicWrite(app.sql, { address: request.ip, token, limit: app.config.rateLimitPublic })
}

/** The router refuses a path with escapes that are not UTF-8, but takes those of a query literally. */
const requireDecodable = async ({ url }: FastifyRequest) => {
  try {
    decodeURIComponent(url)
  } catch {
    throw new errorCodes.FST_ERR_BAD_URL(url)
  }
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
    config: { attachedOf: route.attachedOf },
    bodyLimit: route.attachedOf
      ? bodyLimits.attached
      : route.isOpen
        ? bodyLimits.open
        : bodyLimits[route.body && route.takesLarge ? 'large' : 'keyed'],
    onRequest: route.isOpen ? admitOpen(app, route) : admissionHooks(app, route, family),
    ...(!route.isOpen && { onResponse: noteKeyUse(app) }),
    preValidation: requireDecodable,
    handler: async (request, reply) => {
      // Open routes have no caller, and their handlers use neither `caller` nor `work`.
      const caller = request.caller!
      const answer = await route.handle({
        app,
        caller,
        params: request.params,
        query: request.query,
        body: request.body,
        headers: request.headers,
        work: (run) => app.work(caller.accountId, `key:${caller.keyId}`, route.quota ? countingUse(run) : run),
      })
      return send(reply, answer)
    },
  })
}

/** Serves the OpenAPI document, which is built on the first request. */
const addDocument = (server: FastifyInstance, document: () => OpenApi) => {
  server.get('/openapi.json', async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(JSON.stringify(document())),
  )
}

/**
 * Adds `/healthz` and `/readyz`. `/readyz` is 503 while the database is unavailable, read-only or out of disk space, its schema is
 * older or newer than expected, or the server drains. The states of this process's jobs and paused queues do not affect it: the API works without them.
 */
const addProbes = (
  server: FastifyInstance,
  app: App,
  isDraining: () => boolean,
  jobs: () => Readonly<Record<string, string>> | undefined,
) => {
  server.get('/healthz', async () => ({ status: 'ok' }))
  server.get('/readyz', async (request, reply) => {
    const refuse = (error: string) => reply.code(503).header('retry-after', unavailableSeconds).send({ error })
    if (isDraining()) return refuse('The service is stopping')
    try {
      const fault = schemaProblem(await schemaState(app.database))
      if (fault) return refuse(fault.message)
      await requireWritable(app.database)
      const held = await readHeld(app.sql)
      return { status: 'ready', jobs: jobs(), ...(held.length > 0 && { paused: held }) }
    } catch (error) {
      if (!isUnavailable(error)) request.log.error({ err: error }, 'readiness check failed')
      return refuse('The database is not available')
    }
  })
}

export interface Server {
  fastify: FastifyInstance
  /** Stops the server: it refuses new requests with 503, lets requests in flight finish, and aborts them after `limitMs` (10,000). */
  drain(limitMs?: number): Promise<void>
}

/** Observers of the server, and the state that it shows. */
interface Observers {
  /** It is called for each answered request. */
  onAnswered?: OnAnswered | undefined
  metrics?: Metrics | undefined
  /** Returns the states of this process's jobs for `/readyz`. */
  jobs?: () => Readonly<Record<string, string>> | undefined
}

/** Returns whether an address is one of the trusted proxies. Fastify's own check takes neither ports nor 0.0.0.0/0. */
const trustedBy = (proxies: readonly string[]): ((address: string) => boolean) => {
  const list = parseCidrs(proxies.join(','))
  return (address) => isListed(plainAddress(address), list)
}

/** Builds the server of the API and the pages. It does not listen yet. */
export const buildServer = async (
  app: App,
  routes: readonly Route[],
  logger: FastifyBaseLogger,
  pages: readonly Page[] = [],
  { onAnswered, metrics, jobs = () => undefined }: Observers = {},
): Promise<Server> => {
  let draining = false
  // The cast drops the logger's own type, which every type of Fastify would have to repeat.
  const server = fastify({
    loggerInstance: logger,
    genReqId: newRequestId,
    // Fastify's own lines contain URLs with their queries. logAtEnd logs requests instead.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: bodyLimits.open,
    requestTimeout: requestTimeoutMs,
    http: { connectionsCheckingInterval: 1000, requireHostHeader: false },
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // As long as all headers together, so that no path parameter is refused for its length before the key is checked.
    routerOptions: { maxParamLength: maxHeaderSize },
    trustProxy: trustedBy(app.config.trustProxy),
    frameworkErrors: (error, request, reply) => {
      // No hook runs for such a request.
      logAtEnd(request, reply)
      const isForPage = wantsPage(request) || (!isJson(request) && pagesAt(pages, request.url).length > 0)
      if (error.code === 'FST_ERR_BAD_URL' && isForPage) return void answerNoRoute(app, request, reply)
      answerError(error, request, reply)
    },
    clientErrorHandler: answerMalformed as never,
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
  }) as unknown as FastifyInstance
  // Without this, Fastify refuses QUERY before it looks for a route.
  server.addHttpMethod('QUERY', { overrideExisting: true })
  const readBody = createBodyReader()
  addBodyParsers(server, readBody)
  server.setValidatorCompiler(validate)
  server.setSerializerCompiler(serialize)
  server.setErrorHandler(answerError)
  server.decorateRequest('caller', null)
  server.decorateRequest('releaseBody', null)
  server.decorateRequest('isLate', false)
  server.addHook('onRequest', async (request, reply) => {
    logAtEnd(request, reply)
    reply.header('x-request-id', request.id)
    if (!draining || request.url === '/healthz' || request.url === '/readyz') return
    reply.header('connection', 'close')
    return reply.code(503).header('retry-after', unavailableSeconds).send({ error: 'The service is stopping' })
  })
  refuseUnmet(server)
  limitLoad(server, app.config.trustProxy)
  if (onAnswered) observeAnswers(server, onAnswered)
  if (metrics) addMetrics(server, metrics, app.config.metricsToken, app.config.publicUrl)
  server.addHook('onSend', async (request, reply) => {
    // A connection that its client keeps alive would delay the stop.
    if (draining || endsConnection(request)) reply.header('connection', 'close')
    // Fastify closes the connection after any refused body.
    else reply.removeHeader('connection')
  })
  let built: OpenApi | undefined
  const document = () => {
    built ??= openApiOf(routes, app.config.publicUrl)
    return built
  }
  const documented = routes.length > 0 ? [docsPage(document), llmsPage(document)] : []
  const served = [...pages, ...documented]
  server.after(() => {
    for (const route of routes) addRoute(server, app, route)
    addProbes(server, app, () => draining, jobs)
    // A server without routes has only probes, metrics and pages.
    if (routes.length > 0) addDocument(server, document)
    addPages(server, app, served, readBody)
  })
  addNotFound(server, app, routes, served)
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

/** Whether a browser asks for something outside the API. */
const wantsPage = ({ headers, url }: FastifyRequest): boolean =>
  /\btext\/html\b/i.test(headers.accept ?? '') && !/^\/api(\/|\?|$)/.test(url)

/** Paths of programs outside the API. `/metrics` is not among them: it shows strangers nothing. */
const programPaths = ['/healthz', '/readyz', '/openapi.json']

/** Answers 405 with `Allow` for a known path with another method, else 404. Neither needs a key. A browser gets them as a page. */
const addNotFound = (server: FastifyInstance, app: App, routes: readonly Route[], pages: readonly Page[]) => {
  const known = routes.map((route) => ({
    method: route.method,
    pattern: new RegExp(`^${apiPrefix}${route.path.replace(/:[^/]+/g, '[^/]+')}$`),
  }))
  server.setNotFoundHandler((request, reply) => {
    reply.header('x-request-id', request.id)
    const path = request.url.split('?')[0]!
    const here = [...known.filter(({ pattern }) => pattern.test(path)), ...pagesAt(pages, path)]
    const own = programPaths.includes(path) ? ['GET'] : here.map(({ method }) => method)
    // Every GET route answers HEAD, too.
    const methods = own.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : method))
    if (methods.length > 0) reply.header('allow', methods.join(', '))
    if (wantsPage(request)) return answerNoRoute(app, request, reply, methods.length > 0 ? wrongMethod : undefined)
    if (methods.length === 0) return reply.code(404).send({ error: 'Not found' })
    return reply.code(405).send({ error: `Method ${request.method} is not allowed here` })
  })
}

declare module '../store/work.ts' {
  interface Settings {
    /** Requests per minute for each key and route family; 0 turns the limit off. */
    readonly rateLimit: number
    readonly rateLimitWebhooks: number
    /** Writes per minute without a key for each client address; 0 turns this limit off, and that of tokens. */
    readonly rateLimitPublic: number
    /** CIDR blocks of proxies whose `X-Forwarded-For` is believed. */
    readonly trustProxy: readonly string[]
    /** Requests with this token may read /metrics from anywhere. If it is null, only this machine may read them. */
    readonly metricsToken: string | null
  }
}
