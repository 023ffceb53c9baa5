import type { AddressInfo } from 'node:net'
import type { Logger } from 'pino'
import { version } from '../../cli/version.ts'
import type { Recovery } from '../../embedded/embedded.ts'
import type { OnAnswered } from '../../http/answered.ts'
import { urlHost } from '../../net/addresses.ts'
import type { Page } from '../../pages/page.ts'
import { keepDaemonSettings, keepPublicUrl } from '../../store/installation.ts'
import type { SchemaRule } from '../../store/schema.ts'
import { type OpenApp, openApp } from '../app.ts'
import { type Config, sharedSettings } from '../config.ts'
import { beginErasures } from '../erasures.ts'
import { loadListeners, loadPages, loadRoutes } from '../features.ts'
import { refusedPort, requirePortBeforeDatabase } from '../port.ts'
import { metricsOf } from './daemon.metrics.ts'
import type { JobStates } from './jobs.states.ts'
import { type Jobs, startJobs } from './jobs.ts'
import { createLogger } from './log.ts'

export interface DaemonParts {
  api: boolean
  jobs: boolean
  /** The port of probes and metrics of a daemon without the API. */
  probesPort?: number
  schema?: SchemaRule
  /** It marks the database as one for development, whose clock may be moved. */
  development?: boolean
  /** The console of `svc dev`, which the page `/` links to. */
  consoleUrl?: string
  /** Pages beside those of the features. */
  pages?: readonly Page[]
  /** It is called after each answered request to the API or a page. */
  onAnswered?: OnAnswered
}

export interface Daemon {
  app: OpenApp
  /** The URL of the API or, without it, of the probes. It is null if neither is served. */
  url: string | null
  /** Stops accepting requests and claiming items; finishes or releases items in flight. It can be called twice. */
  stop(): Promise<void>
}

/** Time limit for requests and deliveries in flight when the daemon stops. The whole stop takes less than 15 s (docs/reference/cli.md#signals). */
const drainMs = 10_000

/** A request is refused within 10 s if the database does not answer. This limit leaves time for the response. */
const databaseMs = 9_500

const listen = async (
  app: OpenApp,
  config: Config,
  port: number,
  logger: Logger,
  { api, consoleUrl, pages = [], onAnswered }: DaemonParts,
  jobs: () => JobStates | undefined,
) => {
  const { buildServer } = await import('../../http/server.ts')
  const [routes, ownPages] = api ? await Promise.all([loadRoutes(), loadPages(consoleUrl)]) : [[], []]
  const observers = { onAnswered, metrics: metricsOf(app, jobs), jobs }
  const server = await buildServer(app, routes, logger, [...ownPages, ...pages], observers)
  try {
    await server.fastify.listen({ host: config.host, port })
  } catch (error) {
    await server.drain()
    throw refusedPort((error as NodeJS.ErrnoException).code, config.host, port, api) ?? error
  }
  const bound = (server.fastify.server.address() as AddressInfo).port
  return { server, url: `http://${urlHost(config.host)}:${bound}` }
}

const logRecovery = (logger: Logger, { fault, ms, startedIt, moved }: Recovery): void => {
  const how = startedIt ? 'this process started it again' : 'another process started it again'
  if (fault) logger.error({ err: fault, ms }, 'the embedded database stopped and could not be restarted; will retry')
  else logger.warn({ ms, moved }, `the embedded database stopped and runs again: ${how}`)
}

/** Opens the app and starts the API, the jobs, or both. Throws a Problem that says what to do if it can't. */
export const startDaemon = async (config: Config, parts: DaemonParts): Promise<Daemon> => {
  const logger = createLogger(config)
  if (parts.api) await requirePortBeforeDatabase(config)
  const app = await openApp(config, {
    ...(parts.schema && { schema: parts.schema }),
    ...(parts.development && { development: true }),
    connections: 20,
    deadlineMs: databaseMs,
    hasNoticeConnection: true,
    beforeWork: loadListeners,
    name: parts.api ? 'svc daemon' : 'svc jobs',
    version: version(),
    report: (error, about) => logger.error({ err: error, ...about }, 'unexpected error; will retry'),
    onRecovery: (recovery) => logRecovery(logger, recovery),
  })
  let api: Awaited<ReturnType<typeof listen>> | null = null
  let jobs: Jobs | null = null
  const close = async () => {
    await Promise.all([api?.server.drain(drainMs), jobs?.stop(drainMs)]).finally(() => app.close())
  }
  try {
    if (parts.api) beginErasures(config)
    const { counters } = app
    const port = parts.api ? config.port : parts.probesPort
    const states = () => jobs?.states()
    api = port === undefined ? null : await listen(app, config, port, logger, parts, states)
    if (parts.api && !config.publicUrl.endsWith(':0')) await keepPublicUrl(app.sql, config.publicUrl)
    if (parts.api) await keepDaemonSettings(app.sql, sharedSettings(config))
    jobs = parts.jobs ? await startJobs({ config, counters: counters.memory }, logger) : null
    logger.info({ url: api?.url, jobs: parts.jobs }, 'svc is ready')
    let stopping: Promise<void> | undefined
    const stop = () => {
      logger.info('stopping')
      return close()
    }
    return {
      app,
      url: api?.url ?? null,
      stop: () => {
        stopping ??= stop()
        return stopping
      },
    }
  } catch (error) {
    // A server that goes on listening would keep the process alive without a database.
    await close().catch((fault) => logger.error({ err: fault }, 'the daemon could not be closed'))
    throw error
  }
}
