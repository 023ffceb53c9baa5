import type { AddressInfo } from 'node:net'
import type { Logger } from 'pino'
import type { Answered } from '../http/answered.ts'
import { Problem } from '../lib/problem.ts'
import type { Page } from '../pages/page.ts'
import type { Recovery } from '../store/embedded.ts'
import type { SchemaRule } from '../store/schema.ts'
import { type OpenApp, openApp } from './app.ts'
import type { Config } from './config.ts'
import { loadPages, loadRoutes } from './features.ts'
import type { JobStates } from './jobs.states.ts'
import { type Jobs, startJobs } from './jobs.ts'
import { createLogger } from './log.ts'
import { metricsOf } from './metrics.ts'

export interface DaemonParts {
  api: boolean
  jobs: boolean
  /** With jobs alone: probes and metrics answer at this port. */
  probesPort?: number
  schema?: SchemaRule
  /** The database is one for development: its clock may be moved. */
  development?: boolean
  /** Pages beside those of the features. */
  pages?: readonly Page[]
  /** Hears of each request to the API or a page once it is answered. */
  onAnswered?: (answered: Answered) => void
}

export interface Daemon {
  app: OpenApp
  /** Where the API, or with jobs alone their probes, answer; null: nowhere. */
  url: string | null
  /** Not ready, no new claims; what is in flight finishes or is released. Safe to call twice. */
  stop(): Promise<void>
}

/** In-flight requests and deliveries have this long; the whole stop stays below the 15 s of cli.md. */
const drainMs = 10_000

/** A request that gets no answer from the database is refused within 10 s, with some time to say so. */
const databaseMs = 9_500

const listen = async (
  app: OpenApp,
  config: Config,
  port: number,
  logger: Logger,
  { api, pages = [], onAnswered }: DaemonParts,
  jobs: () => JobStates | undefined,
) => {
  const { buildServer } = await import('../http/server.ts')
  const [routes, ownPages] = api ? await Promise.all([loadRoutes(), loadPages()]) : [[], []]
  const watched = { onAnswered, metrics: metricsOf(app, jobs), jobs }
  const server = await buildServer(app, routes, logger, [...ownPages, ...pages], watched)
  try {
    await server.fastify.listen({ host: config.host, port })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    await server.drain()
    if (code === 'EADDRINUSE')
      throw new Problem('configuration', `Port ${port} is taken`, {
        hint: api ? 'set SVC_PORT to a free one' : 'choose a free one',
      })
    if (code === 'EACCES')
      throw new Problem('configuration', `Port ${port} may not be used by this user`, {
        hint: api ? 'set SVC_PORT to one above 1023' : 'choose one above 1023',
      })
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
      throw new Problem('configuration', `SVC_HOST ${config.host} is no address of this machine`)
    throw error
  }
  const bound = (server.fastify.server.address() as AddressInfo).port
  const host = config.host.includes(':') ? `[${config.host}]` : config.host
  return { server, url: `http://${host}:${bound}` }
}

const logRecovery = (logger: Logger, { fault, ms, startedIt, moved }: Recovery): void => {
  const how = startedIt ? 'this process started it again' : 'another process started it again'
  if (fault) logger.error({ err: fault, ms }, 'the embedded database went away and is not back: it is tried again')
  else logger.warn({ ms, moved }, `the embedded database went away and is back: ${how}`)
}

/** Opens the app and starts the API, the jobs, or both. Throws a Problem that says what to do where it can't. */
export const startDaemon = async (config: Config, parts: DaemonParts): Promise<Daemon> => {
  const logger = createLogger(config)
  const app = await openApp(config, {
    ...(parts.schema && { schema: parts.schema }),
    ...(parts.development && { development: true }),
    connections: 20,
    deadlineMs: databaseMs,
    name: parts.api ? 'svc daemon' : 'svc jobs',
    report: (fault, about) => logger.error({ err: fault, ...about }, 'a fault of ours, tried again'),
    onRecovery: (recovery) => logRecovery(logger, recovery),
  })
  try {
    const { tallies } = app
    const port = parts.api ? config.port : parts.probesPort
    let jobs: Jobs | null = null
    const states = () => jobs?.states()
    const api = port === undefined ? null : await listen(app, config, port, logger, parts, states)
    jobs = parts.jobs ? await startJobs({ config, tallies: tallies.memory }, logger) : null
    logger.info({ url: api?.url, jobs: parts.jobs }, 'ready')
    let stopping: Promise<void> | undefined
    const stop = async () => {
      logger.info('stopping')
      const drained = api?.server.drain(drainMs)
      await Promise.all([drained, jobs?.stop(drainMs)])
      await app.close()
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
    await app.close()
    throw error
  }
}
