import type { EntityManager } from '@mikro-orm/postgresql'
import { missing } from '../lib/problem.ts'
import { createSecretBox, type SecretBox, secretFingerprint } from '../lib/secrets.ts'
import { createTallies, type Tallies } from '../lib/tallies.ts'
import { createTokens, type TokenKeys } from '../lib/token.ts'
import { parseCidrs } from '../net/addresses.ts'
import type { HttpClient } from '../net/http.ts'
import { createResolver } from '../net/resolver.ts'
import type { SmtpClient } from '../net/smtp.ts'
import { type Clock, demandDevelopment, markDevelopment, openClock } from '../store/clock.ts'
import { type Client, isUnavailable, openDatabase, queueSettings, type Sql, unavailable } from '../store/database.ts'
import type { Recovery } from '../store/embedded.ts'
import { checkSecret, readFormerKeys } from '../store/installation.ts'
import { openingOf } from '../store/living.ts'
import { connectionName } from '../store/processes.ts'
import { checkSchema, type SchemaRule } from '../store/schema.ts'
import type { App, Bindable, Operation, Projects, Report } from '../store/work.ts'
import type { Config } from './config.ts'
import { bindable, heldAbout, listeners, loadEntities, projects, sources } from './features.ts'

export interface OpenApp extends App {
  readonly config: Config
  /** Where the database is. With it another process or thread opens the same one. */
  readonly databaseUrl: string
}

interface Options {
  /** The embedded server is used, not owned: this process has already opened it (a job's thread). */
  isThread?: boolean
  /** Hears what becomes of an embedded server that goes away. */
  onRecovery?: (recovery: Recovery) => void
  /** Connections in the pool. */
  connections?: number
  /** Its connections run the statements of a queue. */
  queue?: boolean
  /** Calls through the pool settle within this time (ms); left out: statements may take as long as the server works on them. */
  deadlineMs?: number
  /** What its connections are for: `svc mail`. They are named so, with the process. */
  name?: string
  schema?: SchemaRule
  now?: () => Date
  /** Marks the database as one for development, whose clock may be moved (`svc dev`). */
  development?: boolean
  projects?: Projects
  bindable?: Bindable
  /** Shared with the other threads of the process; left out: its own. */
  tallies?: Tallies
  /** Where faults of ours in the background are told. */
  report?: Report
  /** Called for each heartbeat of a job's worker. */
  beat?: () => void
}

/**
 * Opens everything a process needs and gives it as one object; `close()` closes in reverse.
 *
 * Throws Problem `unavailable` where the database is away or its schema behind, `configuration` where a setting is wrong or
 * `SVC_SECRET` not the one that the database was set up with.
 */
export const openApp = async (config: Config, options: Options = {}): Promise<OpenApp> => {
  const server = await findServer(config, options)
  const name = connectionName(options.name ?? 'svc app')
  const database = openDatabase(server.url, {
    max: options.connections ?? 10,
    name,
    ...(options.queue && { settings: queueSettings }),
    ...(options.deadlineMs !== undefined && { deadlineMs: options.deadlineMs }),
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
    // An embedded database that is still empty is set up by whoever comes first; one that is behind waits for the operator.
    const schema = options.schema ?? (server.isOwn ? 'fresh' : 'require')
    if (options.development && !server.isOwn) await demandDevelopment(database.sql)
    await checkSchema(database, server.url(), schema)
    if (schema !== 'ignore') await checkSecret(database.sql, secretFingerprint(config.secret))
    let loading: Promise<EntityManagers> | undefined
    const orm = () => {
      loading ??= loadOrm(server.url())
      return loading
    }
    const tallies = options.tallies ?? createTallies()
    if (options.development) await markDevelopment(database.sql)
    clock = options.now ? fixedClock(options.now) : await openClock(database)
    const { now, systemNow, look: lookAtClock } = clock
    const box = createSecretBox(config.secret)
    const former = await formerKeys(database.sql, box)
    return {
      config,
      get databaseUrl() {
        return server.url()
      },
      database,
      sql: database.sql,
      box,
      resolver,
      http,
      smtp,
      tokens: createTokens(config.secret, former),
      tallies,
      projects: options.projects ?? projects,
      bindable: options.bindable ?? bindable,
      heldAbout,
      report: options.report ?? (() => {}),
      beat: options.beat ?? (() => {}),
      onClose: (end) => void ends.push(end),
      now,
      systemNow,
      lookAtClock,
      close,
      operate: (actor, run) =>
        uponCommit(tallies, (begin) =>
          database.transaction((sql, client) => {
            const { ended, ...unit } = operation({ sql, client, orm, actor, now: now(), count: begin() })
            return ended(run(unit))
          }),
        ),
      work: (accountId, actor, run) =>
        uponCommit(tallies, (begin) =>
          database.transaction((sql, client, opening) => {
            if (!(opening as { lives: boolean }).lives) throw missing('There is no such account')
            const parts = { sql, client, orm, actor, now: now(), accountId, count: begin() }
            const { ended, ...unit } = operation(parts)
            return ended(run({ ...unit, accountId }))
          }, openingOf(accountId)),
        ),
    }
  } catch (error) {
    await close().catch(() => {})
    throw isUnavailable(error) ? unavailable(error) : error
  }
}

interface Server {
  /** Where it is now. */
  url(): string
  /** Opened by this process, which is one of its users until `close`. */
  isOwn: boolean
  close(): Promise<void>
}

const findServer = async ({ databaseUrl, dataDir }: Config, { isThread, onRecovery }: Options): Promise<Server> => {
  if (databaseUrl !== null) return { url: () => databaseUrl, isOwn: false, close: async () => {} }
  const { embeddedUrl, openEmbedded } = await import('../store/embedded.ts')
  if (isThread) {
    let url = embeddedUrl(dataDir)
    const current = () => {
      try {
        url = embeddedUrl(dataDir)
      } catch {
        // The folder can't be read for the moment: the server is where it was, or away.
      }
      return url
    }
    return { url: current, isOwn: false, close: async () => {} }
  }
  const embedded = await openEmbedded(dataDir, onRecovery && { onRecovery })
  return { url: () => embedded.url, isOwn: true, close: embedded.close }
}

/** What a unit of work counts is counted when it is committed, and once, however often it had to begin. */
const uponCommit = async <T>(tallies: Tallies, transact: (begin: () => Tallies['count']) => Promise<T>): Promise<T> => {
  let counted: (() => void)[] = []
  const result = await transact(() => {
    counted = []
    return (...of) => void counted.push(() => tallies.count(...of))
  })
  for (const count of counted) count()
  return result
}

/** Those of links that former secrets signed; none where another secret sealed them, which is told where it matters. */
export const formerKeys = async (sql: Sql, box: SecretBox): Promise<TokenKeys[]> => {
  const sealed = await readFormerKeys(sql)
  try {
    return sealed === null ? [] : JSON.parse(box.open(sealed, 'installation'))
  } catch {
    return []
  }
}

/** Opens at the first use: undici and nodemailer cost a command that sends nothing 100 ms. */
const once = <Client>(open: () => Promise<Client>) => {
  let opened: Promise<Client> | undefined
  return {
    client: () => {
      opened ??= open()
      return opened
    },
    /** What is not open needs no end. */
    ifOpen: async (end: (client: Client) => unknown) => {
      if (opened) await end(await opened)
    },
  }
}

const lazyHttp = (open: () => Promise<HttpClient>): HttpClient => {
  const { client, ifOpen } = once(open)
  return {
    post: async (...request) => (await client()).post(...request),
    close: () => ifOpen((http) => http.close()),
    destroy: () => ifOpen((http) => http.destroy()),
  }
}

const lazySmtp = (open: () => Promise<SmtpClient>): SmtpClient => {
  const { client, ifOpen } = once(open)
  return {
    send: async (...mail) => (await client()).send(...mail),
    verify: async (relay) => (await client()).verify(relay),
    drain: () => void ifOpen((smtp) => smtp.drain()),
    close: () => void ifOpen((smtp) => smtp.close()),
  }
}

const fixedClock = (now: () => Date): Clock => ({ now, systemNow: now, look: async () => {}, close: async () => {} })

type EntityManagers = (client: Client, accountId: string | null) => EntityManager

const loadOrm = async (databaseUrl: string): Promise<EntityManagers> => {
  const [{ openOrm, entityManager }, entities] = await Promise.all([import('../store/orm.ts'), loadEntities()])
  const orm = await openOrm(entities, databaseUrl)
  return (client, accountId) => entityManager(orm, client, accountId)
}

interface Parts {
  sql: Sql
  client: Client
  orm(): Promise<EntityManagers>
  actor: string
  now: Date
  count: Tallies['count']
  accountId?: string
}

interface Unit extends Operation {
  /** Gives the result once what was to come last has been done too. */
  ended<T>(result: Promise<T>): Promise<T>
}

/** `em` is made at its first use: a fork and its Kysely cost more than some whole operations. */
const operation = ({ sql, client, orm, actor, now, count, accountId }: Parts): Unit => {
  let em: Promise<EntityManager> | undefined
  const endings: (() => Promise<void>)[] = []
  return {
    sql,
    actor,
    now,
    count,
    listeners,
    sources,
    em() {
      em ??= orm().then((managers) => managers(client, accountId ?? null))
      return em
    },
    last: (run) => void endings.push(run),
    async ended(result) {
      const value = await result
      for (const run of endings) await run()
      return value
    },
  }
}
