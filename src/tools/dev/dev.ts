import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type Config, dataDirOf, demoFile, readConfig } from '../../app/config.ts'
import { requirePortBeforeDatabase } from '../../app/port.ts'
import { openEmbedded, prepareFolder } from '../../embedded/embedded.ts'
import type { Database } from '../../store/database.ts'
import { claimFolder } from './dev.claim.ts'

export { consoleUrl } from './dev.claim.ts'

export interface Development {
  config: Config
  url: string
  /** The console: webhooks, mail, API calls and the clock. */
  consoleUrl: string
  /** The URL of the mail catcher. It is null if the environment sets a relay. */
  catcherUrl: string | null
  key: string
  /** The list of the demo (`Demo`). */
  list: string | null
  /** How far the clock of the database is ahead of the system's. */
  aheadMs: number
  /** It can be called twice. */
  stop(): Promise<void>
}

type Environment = Record<string, string | undefined>

/** Webhooks may target this machine, unless the environment sets this. */
const developmentDefaults = { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8,::1/128' }

const configOf = (env: Environment, defaults: Environment = {}): Config => {
  const unset = Object.entries({ ...developmentDefaults, ...defaults }).filter(
    ([name]) => !env[name] && !env[`${name}_FILE`],
  )
  return { ...readConfig({ ...env, ...Object.fromEntries(unset) }), logFormat: 'text' }
}

/**
 * Loads the modules of the daemon, in parallel with the start of the database. The first start also needs MikroORM, for the
 * schema and the sample data.
 */
const loadParts = async (isFirst: boolean) => {
  const [daemon, console, mail, demo, sample, clock, template] = await Promise.all([
    import('../../app/daemon/daemon.ts'),
    import('../console/console.ts'),
    import('../catcher/catcher.ts'),
    import('./demo.ts'),
    import('./picture.ts'),
    import('../../store/clock.ts'),
    import('./dev.template.ts'),
    import('../../http/server.ts'),
    import('../../app/features.ts').then(({ loadRoutes, loadPages }) => Promise.all([loadRoutes(), loadPages()])),
    isFirst && import('../../store/orm.ts'),
  ])
  return { ...daemon, ...console, ...mail, ...demo, ...sample, ...clock, ...template }
}

/** Opens a server on a port next to the API's, so that its URL stays the same; on any free port if that one is taken. */
const openBeside = async <Opened>(
  port: number,
  nth: number,
  open: (port: number) => Promise<Opened>,
): Promise<Opened> => {
  const beside = port === 0 || port + nth > 65_535 ? 0 : port + nth
  return open(beside).catch((error) => {
    if (error.code !== 'EADDRINUSE') throw error
    return open(0)
  })
}

/** Closes opened parts in reverse order. A failure does not keep the other parts from closing. */
const closer = () => {
  const opened: (() => Promise<void>)[] = []
  let closing: Promise<void> | undefined
  const close = async () => {
    let fault: unknown
    for (const end of opened.reverse()) await end().catch((error) => (fault ??= error))
    if (fault) throw fault
  }
  return { opened, close: () => (closing ??= close()) }
}

/**
 * Starts `svc dev` (docs/reference/cli.md#running): database, migrations, daemon with jobs, console with receiver, and demo
 * account. The receiver opens before the jobs, so that deliveries that are still due reach it. If a part can't start, stops
 * the others and throws a Problem that says what to do.
 */
export const startDevelopment = async (env: Environment): Promise<Development> => {
  const folder = await prepareFolder(dataDirOf(env))
  const config = configOf(env)
  await requirePortBeforeDatabase(config)
  const claim = await claimFolder(folder)
  const { opened, close } = closer()
  opened.push(claim.release)
  const waiting = Promise.withResolvers<void>()
  const embedded = config.databaseUrl ? null : openEmbedded(config.dataDir, { onWaiting: waiting.resolve })
  embedded?.then(
    ({ close: leave }) => opened.unshift(leave),
    () => {},
  )
  try {
    // Loading modules blocks the event loop, so the server process is started first.
    await Promise.race([waiting.promise, embedded])
    const parts = await loadParts(!existsSync(demoFile(config.dataDir)))
    await embedded
    const token = parts.readDemoState(config.dataDir)?.token ?? randomBytes(24).toString('base64url')
    const secret = Promise.withResolvers<string>()
    const database = Promise.withResolvers<Database>()
    let [now, origins, held]: [() => Date, string[], () => number | null] = [() => new Date(), [], () => null]
    const console = await openBeside(config.port, 1, (port) =>
      parts.openConsole({
        port,
        token,
        secret: () => secret.promise,
        now: () => now(),
        dataDir: config.dataDir,
        clock: {
          advance: async (byMs) => parts.advanceClock(await database.promise, byMs),
          reset: async () => parts.resetClock(await database.promise),
        },
        held: () => held(),
        daemonOrigins: () => origins,
        hiddenPaths: [parts.picturePath, parts.logoPath],
      }),
    )
    opened.push(console.close)
    const catcher = await openBeside(config.port, 2, (port) => parts.openCatcher(port, config.dataDir, () => now()))
    opened.push(catcher.close)
    const mailing = configOf(env, { SVC_SMTP_URL: catcher.url })
    const isCaught = mailing.smtpUrl === catcher.url
    if (isCaught) held = catcher.held
    const { app, stop, url } = await parts.startDaemon(mailing, {
      api: true,
      jobs: true,
      schema: 'migrate',
      development: true,
      consoleUrl: console.url,
      pages: parts.samplePages,
      onAnswered: console.addCall,
    })
    opened.push(stop)
    // Closed first: otherwise the daemon's stop would wait for held messages.
    opened.push(async () => catcher.release())
    now = app.systemNow
    origins = [...new Set([url!, app.config.publicUrl].map((one) => new URL(one).origin))]
    database.resolve(app.database)
    const picture = parts.pictureUrl(app.config.publicUrl)
    const demo = await parts.prepareDemo(app, { url: console.hookUrl, token }, picture)
    secret.resolve(demo.secret)
    const { offsetMs: aheadMs } = await parts.showClock(app.sql)
    await claim.publish(url!, console.url)
    if (demo.written) opened.push(parts.renderBefore({ config: mailing, written: demo.written }).stop)
    return {
      config,
      url: url!,
      consoleUrl: console.url,
      catcherUrl: isCaught ? catcher.url : null,
      key: demo.key,
      list: demo.list,
      aheadMs,
      stop: close,
    }
  } catch (error) {
    await close().catch(() => {})
    throw error
  }
}
