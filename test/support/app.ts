import { pino } from 'pino'
import { createAccount, createKey } from '../../src/accounts/accounts.ts'
import { type OpenApp, openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { metricsOf } from '../../src/app/daemon/daemon.metrics.ts'
import { loadPages, loadRoutes } from '../../src/app/features.ts'
import type { EventType } from '../../src/events/events.ts'
import type { WebhookEvent } from '../../src/events/shapes.ts'
import { buildServer, type Server } from '../../src/http/server.ts'
import { advanceClock } from '../../src/store/clock.ts'
import type { App } from '../../src/store/work.ts'
import { cloneDatabase } from './database.ts'
import { created, type Given, opened, resolved } from './fixture.ts'
import type { BodyOf } from './replies.ts'
import { isSlow } from './slowness.ts'

export interface Reply<Body = unknown> {
  status: number
  body: Body
  headers: Record<string, string | string[] | number | undefined>
}

/** An event of one of these types, each with its own data. */
type EventOf<T extends EventType = EventType> = { [Each in T]: WebhookEvent<Each> }[T]

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'PUT'

export interface Request {
  key?: string
  /** An object is sent as JSON, a string unchanged. */
  body?: unknown
  headers?: Record<string, string>
}

export interface TestAccount {
  id: string
  name: string
  key: string
  keyId: string
}

export interface AccountOptions {
  plan?: string
  name?: string
}

export interface TestApp {
  app: OpenApp
  server: Server
  url: string
  env: Record<string, string>
  /** The type of the body is what the route declares. */
  request<const M extends Method, const Path extends string>(
    method: M,
    path: Path,
    request?: Request,
  ): Promise<Reply<BodyOf<M, Path>>>
  account(options?: AccountOptions): Promise<TestAccount>
  /** The events in the account's outbox, oldest first, as they will be posted; with `type`, only those of this type. */
  events<T extends EventType = EventType>(accountId: string, type?: T): Promise<EventOf<T>[]>
  /** Moves the clock of a development database forward, and waits until the app follows. */
  advance(ms: number): Promise<void>
  close(): Promise<void>
}

export interface StartOptions {
  /** Environment added to the cloned database, a fixed secret, disabled rate limits and disabled logging. */
  env?: Record<string, string>
  now?: () => Date
  /** Uses a development database, whose clock `advance` moves for every process. */
  development?: boolean
  /** The renderer of projects, in place of the studio. */
  projects?: App['projects']
  /** The subjects of lifecycle email bindings, in place of courses and webinars. */
  bindable?: App['bindable']
}

/**
 * Returns a reply whose status is 2xx or a redirect, as of a page after its form, or the given one. Throws otherwise: for calls that are
 * only there for their effects.
 */
export const ok = async <R extends { status: number; body: unknown }>(
  promised: Promise<R>,
  expected?: number,
): Promise<R> => {
  const reply = await promised
  const { status, body } = reply
  if (expected === undefined ? status >= 200 && status < 400 : status === expected) return reply
  const error = new Error(`The call was answered with ${status}: ${JSON.stringify(body)}`)
  // The trace begins at the call.
  Error.captureStackTrace(error, ok)
  throw error
}

let accounts = 0

/** Every other path is relative to `/api/v1`. */
const unprefixed =
  /^\/($|api|healthz|readyz|metrics|docs|openapi\.json|[a-z]\/|join\/|webinar\/|[^/]+\/[^/]+\/(embed(\?|$)|certificate\/))/

/** Starts the whole app with its own database. The HTTP server answers `inject`: no port is opened. */
export const startApp = async (options: StartOptions = {}): Promise<TestApp> => {
  const database = await cloneDatabase()
  const env = {
    DATABASE_URL: database.url,
    SVC_SECRET: 'a secret that only tests use',
    SVC_RATE_LIMIT: '0',
    SVC_RATE_LIMIT_WEBHOOKS: '0',
    SVC_RATE_LIMIT_FORMS: '0',
    SVC_RATE_LIMIT_PUBLIC: '0',
    SVC_LOG_LEVEL: 'silent',
    ...options.env,
  }
  const app = await openApp(readConfig(env), {
    ...(options.now && { now: options.now }),
    ...(options.development && { development: true }),
    ...(options.projects && { projects: options.projects }),
    ...(options.bindable && { bindable: options.bindable }),
  })
  const log = pino({ level: 'silent' })
  const server = await buildServer(app, await loadRoutes(), log, await loadPages(), { metrics: metricsOf(app) })
  return {
    app,
    server,
    url: database.url,
    env,
    async request(method, path, { key, body, headers = {} } = {}) {
      const isText = typeof body === 'string' || Buffer.isBuffer(body)
      const call = () =>
        server.fastify.inject({
          method,
          url: unprefixed.test(path) ? path : `/api/v1${path}`,
          headers: {
            ...(key && { authorization: `Bearer ${key}` }),
            ...(body !== undefined && { 'content-type': 'application/json' }),
            ...headers,
          },
          ...(body !== undefined && { payload: isText ? body : JSON.stringify(body) }),
        } as never)
      let reply = await call()
      // Tests that expect 503 get it after the last repetition.
      for (let repeats = 0; isSlow() && repeats < 5 && reply.statusCode === 503; repeats++) reply = await call()
      const text = reply.body
      const isJson = String(reply.headers['content-type'] ?? '').includes('json')
      return { status: reply.statusCode, body: isJson ? JSON.parse(text) : text, headers: reply.headers }
    },
    async account({ plan = 'unlimited', name = `Account ${++accounts}` } = {}) {
      const account = await app.operate('cli:test', (operation) => createAccount(operation, { name, plan }))
      const key = await app.work(account.id, 'cli:test', (work) => createKey(work, { name: 'test' }))
      return { id: account.id, name, key: key.key, keyId: key.id }
    },
    async events(accountId, type) {
      const rows = await app.sql<{ payload: string }>('select payload from events where account_id = $1 order by id', [
        accountId,
      ])
      return rows.map((row) => JSON.parse(row.payload)).filter((event) => type === undefined || event.type === type)
    },
    async advance(ms) {
      const until = app.now().getTime() + ms
      await advanceClock(app.database, ms)
      while (app.now().getTime() < until) await new Promise((resolve) => setTimeout(resolve, 5))
    },
    async close() {
      await server.drain()
      await app.close()
      await database.drop()
    },
  }
}

/** Starts an app for the tests of this file or `describe`, and closes it after them. */
export const useApp = (options: Given<StartOptions> = {}): TestApp => opened(() => startApp(resolved(options)))

/** Creates an account for the tests of this file or `describe`. */
export const useAccount = (t: Pick<TestApp, 'account'>, options: AccountOptions = {}): TestAccount =>
  created(() => t.account(options))
