import type { EntityManager } from '@mikro-orm/postgresql'
import { missing } from '../lib/problem.ts'
import { createSecretBox, secretFingerprint } from '../lib/secrets.ts'
import { createTokens } from '../lib/token.ts'
import { parseCidrs } from '../net/addresses.ts'
import type { HttpClient } from '../net/http.ts'
import { createResolver } from '../net/resolver.ts'
import type { SmtpClient } from '../net/smtp.ts'
import { type Clock, markDevelopment, openClock } from '../store/clock.ts'
import { type Client, isUnavailable, openDatabase, queueSettings, type Sql, unavailable } from '../store/database.ts'
import { checkSecret } from '../store/installation.ts'
import { openingOf } from '../store/living.ts'
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
  /** Given by who has already opened the embedded server (a job's thread): it is used, not owned. */
  databaseUrl?: string
  /** Connections in the pool. */
  connections?: number
  /** Its connections run the statements of a queue. */
  queue?: boolean
  name?: string
  schema?: SchemaRule
  now?: () => Date
  /** Marks the database as one for development, whose clock may be moved (`svc dev`). */
  development?: boolean
  projects?: Projects
  bindable?: Bindable
  /** Where faults of ours in the background are told. */
  report?: Report
}

/**
 * Opens everything a process needs and gives it as one object; `close()` closes in reverse.
 *
 * Throws Problem `unavailable` where the database is away or its schema behind, `configuration` where a setting is wrong or
 * `SVC_SECRET` not the one that the database was set up with.
 */
export const openApp = async (config: Config, options: Options = {}): Promise<OpenApp> => {
  const given = options.databaseUrl ?? config.databaseUrl
  const embedded = given ? null : await (await import('../store/embedded.ts')).openEmbedded(config.dataDir)
  const databaseUrl = given ?? embedded!.url
  const name = options.name ?? 'svc'
  const database = openDatabase(databaseUrl, {
    max: options.connections ?? 10,
    name,
    ...(options.queue && { settings: queueSettings }),
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
    await embedded?.close()
  }
  try {
    // An embedded database that is still empty is set up by whoever comes first; one that is behind waits for the operator.
    const schema = options.schema ?? (embedded ? 'fresh' : 'require')
    await checkSchema(database, databaseUrl, schema)
    if (schema !== 'ignore') await checkSecret(database.sql, secretFingerprint(config.secret))
    let loading: Promise<EntityManagers> | undefined
    const orm = () => {
      loading ??= loadOrm(databaseUrl)
      return loading
    }
    if (options.development) await markDevelopment(database.sql)
    clock = options.now ? fixedClock(options.now) : await openClock(database)
    const { now, systemNow } = clock
    return {
      config,
      databaseUrl,
      database,
      sql: database.sql,
      box: createSecretBox(config.secret),
      resolver,
      http,
      smtp,
      tokens: createTokens(config.secret),
      projects: options.projects ?? projects,
      bindable: options.bindable ?? bindable,
      heldAbout,
      report: options.report ?? (() => {}),
      onClose: (end) => void ends.push(end),
      now,
      systemNow,
      close,
      operate: (actor, run) =>
        database.transaction((sql, client) => {
          const { ended, ...unit } = operation({ sql, client, orm, actor, now: now() })
          return ended(run(unit))
        }),
      work: (accountId, actor, run) =>
        database.transaction((sql, client, opening) => {
          if (!(opening as { lives: boolean }).lives) throw missing('There is no such account')
          const { ended, ...unit } = operation({ sql, client, orm, actor, now: now(), accountId })
          return ended(run({ ...unit, accountId }))
        }, openingOf(accountId)),
    }
  } catch (error) {
    await close().catch(() => {})
    throw isUnavailable(error) ? unavailable() : error
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
    close: () => void ifOpen((smtp) => smtp.close()),
  }
}

const fixedClock = (now: () => Date): Clock => ({ now, systemNow: now, close: async () => {} })

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
  accountId?: string
}

interface Unit extends Operation {
  /** Gives the result once what was to come last has been done too. */
  ended<T>(result: Promise<T>): Promise<T>
}

/** `em` is made at its first use: a fork and its Kysely cost more than some whole operations. */
const operation = ({ sql, client, orm, actor, now, accountId }: Parts): Unit => {
  let em: Promise<EntityManager> | undefined
  const endings: (() => Promise<void>)[] = []
  return {
    sql,
    actor,
    now,
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
