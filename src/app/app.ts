/*
 * Composition: the only place below tools/ that knows every feature. app.ts opens everything (unit-of-work.ts), open.ts what
 * commands need. features.ts lists the features; listeners.ts, personal-data.ts, timeline.ts and filter-parts.ts what they
 * contribute, schedule.ts the jobs of each thread. daemon/ serves HTTP and runs jobs/, operate/ is for operators,
 * backup/ backs up and restores, move/ moves accounts.
 */

import type { Recovery } from '../embedded/embedded.ts'
import { type Beats, createBeats } from '../lib/beats.ts'
import { type Counters, createCounters } from '../lib/counters.ts'
import { Problem } from '../lib/problem.ts'
import { createSecretBox, type SecretBox, secretFingerprint } from '../lib/secrets.ts'
import { createTokens, type TokenKeys } from '../lib/token.ts'
import { parseCidrs } from '../net/addresses.ts'
import { trust } from '../net/authorities.ts'
import type { HttpClient } from '../net/http.ts'
import { withReserved } from '../net/reserved.ts'
import { createResolver } from '../net/resolver.ts'
import type { SmtpClient } from '../net/smtp.ts'
import { type Clock, localClock, markDevelopment, openClock, requireDevelopment } from '../store/clock.ts'
import { queueSettings } from '../store/connection.settings.ts'
import { isUnavailable, openDatabase, type Sql, unavailable } from '../store/database.ts'
import { checkInstallation, readFormerKeys, readPublicUrl } from '../store/installation.ts'
import { connectionName } from '../store/processes.ts'
import { checkSchema, type SchemaRule } from '../store/schema.ts'
import type { App, Report } from '../store/work.ts'
import type { Config } from './config.ts'
import { recordErasures } from './erasures.ts'
import { bindable, loadListeners, loadPersonalData, loadSuppressing, loadTimelineParts, projects } from './features.ts'
import { schedulers } from './schedule.ts'
import { createUnits } from './unit-of-work.ts'

export interface OpenApp extends App {
  readonly config: Config
  /** The URL of the database, for other processes and threads. */
  readonly databaseUrl: string
}

interface Options {
  /** Set in the threads of jobs: this process has already opened the embedded server, so the app uses it without owning it. */
  isThread?: boolean
  /** It is called after each attempt to restart an embedded server that died. */
  onRecovery?: (recovery: Recovery) => void
  /** The maximum number of connections in the pool. */
  connections?: number
  /** Connections get the planner settings of queues. */
  queue?: boolean
  /** Calls through the pool settle within this time (ms). By default a statement has no limit. */
  deadlineMs?: number
  /** Notices get a connection of their own, for processes with a busy pool. */
  hasNoticeConnection?: boolean
  /** The purpose of the connections, such as `svc mail`. Their name consists of it and the process. */
  name?: string
  /** The version of a daemon, which is a part of the name of its connections. */
  version?: string
  schema?: SchemaRule
  now?: () => Date
  /** Commands set it, so that links use the daemon's public URL. `isGiven` says that the environment sets SVC_PUBLIC_URL. */
  links?: { isGiven: boolean }
  /** Marks the database as one for development, whose clock may be moved (`svc dev`). */
  development?: boolean
  projects?: App['projects']
  bindable?: App['bindable']
  /** Counters that the threads of the process share. Without them, the app gets new ones. */
  counters?: Counters
  /** What heartbeats found for the schedulers, shared by the threads of the process. Without it, the app gets its own. */
  looks?: Beats
  /** It is awaited before each unit of work, and loads what the unit would otherwise load while it holds locks. */
  beforeWork?: () => Promise<unknown>
  /** Reports unexpected errors of background work. */
  report?: Report
  /** It is called for each heartbeat of a job's worker. */
  beat?: () => void
}

/**
 * Opens everything that a process needs and returns it as one object; `close()` closes in reverse order.
 *
 * Throws Problem `unavailable` if the database is unavailable or its schema is behind, `configuration` if a setting is
 * wrong or `SVC_SECRET` is not the secret that the database was set up with.
 */
export const openApp = async (config: Config, options: Options = {}): Promise<OpenApp> => {
  trust(config.authorities)
  const server = await findServer(config, options)
  const name = connectionName(options.name ?? 'svc app', options.version)
  const database = openDatabase(server.url, {
    max: options.connections ?? 10,
    name,
    ...(options.queue && { settings: queueSettings }),
    ...(options.deadlineMs !== undefined && { deadlineMs: options.deadlineMs }),
    ...(options.hasNoticeConnection && { hasNoticeConnection: true }),
  })
  const allow = parseCidrs(config.allowPrivateWebhooks.join(','))
  const resolver = createResolver([...config.dnsServers])
  const http = lazyHttp(async () => (await import('../net/http.ts')).createHttpClient({ resolver, allow }))
  const smtp = lazySmtp(async () => (await import('../net/smtp.ts')).createSmtpClient(resolver))
  const ends: (() => Promise<void>)[] = []
  let clock: Clock | undefined
  const close = async () => {
    for (const end of ends.reverse()) await end()
    await clock?.close()
    smtp.close()
    await http.close()
    resolver.close()
    await database.close()
    await server.close()
  }
  try {
    // The first process sets up an empty embedded database. If the schema is behind, the operator has to migrate it.
    const schema = options.schema ?? (server.isOwn ? 'fresh' : 'require')
    if (options.development && !server.isOwn) await requireDevelopment(database.sql, () => isUsed(database.sql))
    await checkSchema(database, server.url(), schema)
    if (schema !== 'ignore') await checkInstallation(database.sql, secretFingerprint(config.secret))
    const configInUse = options.links ? await withLinks(config, database.sql, options.links) : config
    const counters = options.counters ?? createCounters()
    if (options.development) await markDevelopment(database.sql)
    clock = options.now ? localClock(options.now) : await openClock(database)
    const { now, systemNow, onMoved: onClockMoved, catchUp: catchUpClock } = clock
    const box = createSecretBox(config.secret)
    const former = await formerKeys(database.sql, box)
    const recording = recordErasures(config)
    const listeners = async () => (recording ? [...(await loadListeners()), recording] : loadListeners())
    const units = createUnits({
      database,
      databaseUrl: () => server.url(),
      now,
      listeners,
      counters,
      ...(options.beforeWork && { beforeWork: options.beforeWork }),
    })
    const rendering = options.projects ?? projects
    return {
      config: configInUse,
      get databaseUrl() {
        return server.url()
      },
      database,
      sql: database.sql,
      box,
      resolver: clock.isDevelopment ? withReserved(resolver) : resolver,
      http,
      smtp,
      tokens: createTokens(config.secret, former),
      counters,
      looks: options.looks ?? createBeats(schedulers),
      projects: rendering,
      bindable: options.bindable ?? bindable,
      personalData: loadPersonalData,
      timelineParts: loadTimelineParts,
      journeyMails: async () =>
        (await import('./journeys.mail.ts')).journeyMails({ config: configInUse, projects: rendering }),
      suppressing: loadSuppressing,
      report: options.report ?? (() => {}),
      beat: options.beat ?? (() => {}),
      onClose: (end) => void ends.push(end),
      now,
      systemNow,
      onClockMoved,
      catchUpClock,
      close,
      ...units,
    }
  } catch (error) {
    await close().catch(() => {})
    throw isUnavailable(error) ? unavailable(error) : error
  }
}

const isUsed = async (sql: Sql): Promise<boolean> => (await import('../accounts/accounts.ts')).hasAccounts({ sql })

const withLinks = async (config: Config, sql: Sql, { isGiven }: { isGiven: boolean }): Promise<Config> => {
  const publicUrl = await readPublicUrl(sql)
  if (publicUrl === null || publicUrl === config.publicUrl) return config
  if (!isGiven) return Object.freeze({ ...config, publicUrl })
  // A getter, so that a command that creates no link does not fail.
  return Object.freeze({
    ...config,
    get publicUrl(): string {
      throw new Problem('configuration', `SVC_PUBLIC_URL is ${config.publicUrl}, and the daemon's is ${publicUrl}`, {
        hint: 'unset it here, which takes the daemon’s; or restart the daemon with the new one first',
      })
    },
  })
}

interface Server {
  /** Returns the current URL. A restarted embedded server may have another port. */
  url(): string
  /** Whether it is an embedded server that this process has opened, and uses until `close`. */
  isOwn: boolean
  close(): Promise<void>
}

const findServer = async ({ databaseUrl, dataDir }: Config, { isThread, onRecovery }: Options): Promise<Server> => {
  if (databaseUrl !== null) return { url: () => databaseUrl, isOwn: false, close: async () => {} }
  const { embeddedUrl, openEmbedded } = await import('../embedded/embedded.ts')
  if (isThread) {
    let url = embeddedUrl(dataDir)
    const current = () => {
      try {
        url = embeddedUrl(dataDir)
      } catch {
        // The folder is temporarily unreadable: use the last known URL.
      }
      return url
    }
    return { url: current, isOwn: false, close: async () => {} }
  }
  const embedded = await openEmbedded(dataDir, onRecovery && { onRecovery })
  return { url: () => embedded.url, isOwn: true, close: embedded.close }
}

/** Returns the token keys of former secrets; none if another secret sealed them (`checkInstallation` reports that). */
export const formerKeys = async (sql: Sql, box: SecretBox): Promise<TokenKeys[]> => {
  const sealed = await readFormerKeys(sql)
  try {
    return sealed === null ? [] : JSON.parse(box.open(sealed, 'installation'))
  } catch {
    return []
  }
}

/** Returns a client that is opened at its first use, because loading undici and nodemailer costs a command 100 ms. */
const lazily = <Client>(open: () => Promise<Client>) => {
  let opened: Promise<Client> | undefined
  return {
    client: () => {
      opened ??= open()
      return opened
    },
    /** Ends the client if it was opened. */
    ifOpen: async (end: (client: Client) => unknown) => {
      if (opened) await end(await opened)
    },
  }
}

const lazyHttp = (open: () => Promise<HttpClient>): HttpClient => {
  const { client, ifOpen } = lazily(open)
  return {
    post: async (...request) => (await client()).post(...request),
    get: async (...request) => (await client()).get(...request),
    close: () => ifOpen((http) => http.close()),
    destroy: () => ifOpen((http) => http.destroy()),
  }
}

const lazySmtp = (open: () => Promise<SmtpClient>): SmtpClient => {
  const { client, ifOpen } = lazily(open)
  return {
    send: async (...mail) => (await client()).send(...mail),
    verify: async (relay) => (await client()).verify(relay),
    drain: () => void ifOpen((smtp) => smtp.drain()),
    close: () => void ifOpen((smtp) => smtp.close()),
  }
}
