import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Answered } from '../http/answered.ts'
import { Problem } from '../lib/problem.ts'
import type { Page } from '../pages/page.ts'
import type { SchemaRule } from '../store/schema.ts'
import { type OpenApp, openApp } from './app.ts'
import type { Config } from './config.ts'
import { loadPages, loadRoutes } from './features.ts'
import type { JobStates } from './jobs.states.ts'
import { type Jobs, startJobs } from './jobs.ts'
import { createLogger } from './log.ts'

export interface DaemonParts {
  api: boolean
  jobs: boolean
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
  /** Where the API listens; null with jobs alone. */
  url: string | null
  /** Not ready, no new claims; what is in flight finishes or is released. Safe to call twice. */
  stop(): Promise<void>
}

/** In-flight requests and deliveries have this long; the whole stop stays below the 15 s of cli.md. */
const drainMs = 10_000

const listen = async (
  app: OpenApp,
  config: Config,
  logger: Logger,
  { pages = [], onAnswered }: DaemonParts,
  jobStates: () => JobStates | undefined,
) => {
  const { buildServer } = await import('../http/server.ts')
  const allPages = [...(await loadPages()), ...pages]
  const server = await buildServer(app, await loadRoutes(), logger, allPages, onAnswered, jobStates)
  try {
    await server.fastify.listen({ host: config.host, port: config.port })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    await server.drain()
    if (code === 'EADDRINUSE')
      throw new Problem('configuration', `Port ${config.port} is taken`, { hint: 'set SVC_PORT to a free one' })
    if (code === 'EACCES')
      throw new Problem('configuration', `Port ${config.port} may not be used by this user`, {
        hint: 'set SVC_PORT to one above 1023',
      })
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
      throw new Problem('configuration', `SVC_HOST ${config.host} is no address of this machine`)
    throw error
  }
  const { port } = server.fastify.server.address() as AddressInfo
  const host = config.host.includes(':') ? `[${config.host}]` : config.host
  return { server, url: `http://${host}:${port}` }
}

/** Opens the app and starts the API, the jobs, or both. Throws a Problem that says what to do where it can't. */
export const startDaemon = async (config: Config, parts: DaemonParts): Promise<Daemon> => {
  const logger = createLogger(config)
  const app = await openApp(config, {
    ...(parts.schema && { schema: parts.schema }),
    ...(parts.development && { development: true }),
    connections: 20,
    name: 'svc daemon',
    report: (fault, about) => logger.error({ err: fault, ...about }, 'a fault of ours, tried again'),
  })
  try {
    let jobs: Jobs | null = null
    const api = parts.api ? await listen(app, config, logger, parts, () => jobs?.states()) : null
    jobs = parts.jobs ? await startJobs({ config, databaseUrl: app.databaseUrl }, logger) : null
    logger.info({ url: api?.url, jobs: parts.jobs }, 'ready')
    let stopping: Promise<void> | undefined
    const stop = async () => {
      logger.info('stopping')
      const drained = api ? Promise.race([api.server.drain(), sleep(drainMs, undefined, { ref: false })]) : undefined
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
