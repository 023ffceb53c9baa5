import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { Sql } from '../store/database.ts'
import { prepareFolder } from '../store/embedded.cluster.ts'
import { openEmbedded } from '../store/embedded.ts'
import { type Config, demoFile, readConfig } from './config.ts'

export interface Development {
  config: Config
  url: string
  /** The console: webhooks, mail, API calls and the clock. */
  consoleUrl: string
  /** Where mail is caught; null: the environment names a relay. */
  catcherUrl: string | null
  key: string
  listId: string | null
  /** Safe to call twice. */
  stop(): Promise<void>
}

type Environment = Record<string, string | undefined>

/** Webhooks may go to this machine, unless the environment says otherwise. */
const developmentDefaults = { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8,::1/128' }

const configOf = (env: Environment, defaults: Environment = {}): Config => {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value))
  return { ...readConfig({ ...developmentDefaults, ...defaults, ...given }), logFormat: 'text' }
}

/**
 * What the daemon is made of. Loaded while the database starts: each waits for the machine at another place. The first time
 * MikroORM is needed, for the schema and the sample data.
 */
const loadParts = async (isFirst: boolean) => {
  const [daemon, console, mail, demo, sample, clock] = await Promise.all([
    import('./daemon.ts'),
    import('./console/console.ts'),
    import('./dev.mail.ts'),
    import('./dev.demo.ts'),
    import('./dev.sample.ts'),
    import('../store/clock.ts'),
    import('../http/server.ts'),
    import('./features.ts').then(({ loadRoutes, loadPages, loadEntities }) =>
      Promise.all([loadRoutes(), loadPages(), isFirst && loadEntities()]),
    ),
    isFirst && import('../store/orm.ts'),
  ])
  return { ...daemon, ...console, ...mail, ...demo, ...sample, ...clock }
}

/** Beside the API, so that it stays where it is from one start to the next; anywhere else if that port is taken. */
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

/** Ends what was opened, the last first, all of it even if one fails. */
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
 * `svc dev` (cli.md, Running): database, migrations, daemon with jobs, console with receiver, and demo account. The receiver opens
 * before the jobs start, so that what waited since the last time meets it. Throws a Problem that says what to do where a
 * part can't start; the parts that did are stopped.
 */
export const startDevelopment = async (env: Environment): Promise<Development> => {
  await prepareFolder(env.SVC_DATA_DIR || '.svc')
  const config = configOf(env)
  const { opened, close } = closer()
  const waiting = Promise.withResolvers<void>()
  const embedded = config.databaseUrl ? null : openEmbedded(config.dataDir, { onWaiting: waiting.resolve })
  embedded?.then(
    ({ close: leave }) => opened.unshift(leave),
    () => {},
  )
  try {
    // Modules load in one go, in which nothing else would begin.
    await Promise.race([waiting.promise, embedded])
    const parts = await loadParts(!existsSync(demoFile(config.dataDir)))
    await embedded
    const token = parts.readKeepsake(config.dataDir)?.token ?? randomBytes(24).toString('base64url')
    const secret = Promise.withResolvers<string>()
    const sql = Promise.withResolvers<Sql>()
    let [now, origins, held]: [() => Date, string[], () => number | null] = [() => new Date(), [], () => null]
    const console = await openBeside(config.port, 1, (port) =>
      parts.openConsole({
        port,
        token,
        secret: () => secret.promise,
        now: () => now(),
        dataDir: config.dataDir,
        clock: {
          advance: async (byMs) => parts.advanceClock(await sql.promise, byMs),
          reset: async () => parts.resetClock(await sql.promise),
        },
        held: () => held(),
        imageOrigins: () => origins,
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
      pages: parts.samplePages,
      onAnswered: console.told,
    })
    opened.push(stop)
    // First of all: the daemon's stop would wait for mail that hangs.
    opened.push(async () => catcher.release())
    now = app.systemNow
    origins = [...new Set([url!, app.config.publicUrl].map((one) => new URL(one).origin))]
    sql.resolve(app.sql)
    const picture = parts.pictureUrl(app.config.publicUrl)
    const demo = await parts.prepareDemo(app, { url: console.hookUrl, token }, picture)
    secret.resolve(demo.secret)
    const { key, listId } = demo
    return {
      config,
      url: url!,
      consoleUrl: console.url,
      catcherUrl: isCaught ? catcher.url : null,
      key,
      listId,
      stop: close,
    }
  } catch (error) {
    await close().catch(() => {})
    throw error
  }
}
