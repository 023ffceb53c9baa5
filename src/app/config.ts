import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { Problem } from '../lib/problem.ts'
import { parseCidrs } from '../net/addresses.ts'
import { parseServers } from '../net/resolver.ts'
import { findSecret, keptSecret } from './secret.ts'

type Environment = Record<string, string | undefined>

const secretNames = ['DATABASE_URL', 'SVC_SECRET', 'SVC_SMTP_URL', 'SVC_METRICS_TOKEN'] as const

const count = z
  .string()
  .regex(/^\d{1,9}$/, 'must be a whole number')
  .transform(Number)
/** How long something is kept, and no longer than times are counted from 1970. `least` 0: for ever, by that number. */
const upTo = (most: number, least = 1) =>
  count.refine((given) => given >= least && given <= most, `must be a whole number from ${least} to ${most}`)
const url = (protocols: RegExp, example: string) =>
  z
    .string()
    .refine((text) => URL.canParse(text) && protocols.test(new URL(text).protocol), `must be a URL like ${example}`)
const commaSeparated = z.string().transform((text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean),
)

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** Whether who will read the list takes it. */
const isTaken =
  (parse: (text: string) => unknown) =>
  (parts: readonly string[]): boolean => {
    try {
      parse(parts.join(','))
      return true
    } catch {
      return false
    }
  }

/** What the daemon and the CLI read from the environment (cli.md, Running). */
const Environment = z.object({
  DATABASE_URL: url(/^postgres(ql)?:$/, 'postgres://user:password@host:5432/svc').optional(),
  SVC_DATA_DIR: z.string().default('.svc'),
  SVC_HOST: z
    .string()
    .regex(/^[A-Za-z0-9._:-]+$/, 'must be an address or a host name')
    .default('127.0.0.1'),
  SVC_PORT: count.refine((port) => port <= 65535, 'must be at most 65535').default(4800),
  SVC_PUBLIC_URL: url(/^https?:$/, 'https://mail.example.com').optional(),
  SVC_SECRET: z.string().min(16, 'must have at least 16 characters').optional(),
  SVC_SMTP_URL: url(/^smtps?:$/, 'smtp://user:password@host:587').optional(),
  SVC_DNS_SERVERS: commaSeparated.refine(isTaken(parseServers), 'must be ip[:port], comma-separated').default([]),
  SVC_ALLOW_PRIVATE_WEBHOOKS: commaSeparated
    .refine(isTaken(parseCidrs), 'must be addresses or CIDR blocks, comma-separated')
    .optional(),
  SVC_RATE_LIMIT: count.default(60),
  SVC_RATE_LIMIT_WEBHOOKS: count.default(30),
  SVC_RATE_LIMIT_FORMS: count.default(30),
  SVC_TRUST_PROXY: commaSeparated
    .refine(isTaken(parseCidrs), 'must be addresses or CIDR blocks, comma-separated')
    .default([]),
  SVC_METRICS_TOKEN: z.string().min(16, 'must have at least 16 characters').optional(),
  SVC_JOURNEY_RETENTION_DAYS: upTo(10_000).default(90),
  SVC_ACCESS_LOG_RETENTION_MONTHS: upTo(300).default(13),
  SVC_IMPORT_RETENTION_DAYS: upTo(10_000).default(90),
  SVC_REJECT_RETENTION_DAYS: upTo(10_000).default(90),
  SVC_MESSAGE_RETENTION_DAYS: upTo(10_000, 0).default(90),
  SVC_RESPONSE_RETENTION_DAYS: upTo(10_000, 0).default(0),
  SVC_STRIPE_API_URL: url(/^https?:$/, 'http://127.0.0.1:12111')
    .refine((text) => !URL.canParse(text) || /^\/?$/.test(new URL(text).pathname), 'must have no path')
    .optional(),
  SVC_LOG_LEVEL: z.enum(logLevels, `must be one of ${logLevels.join(', ')}`).default('info'),
})

export interface Config {
  /** null: the embedded server under `dataDir`. */
  databaseUrl: string | null
  dataDir: string
  host: string
  port: number
  publicUrl: string
  secret: string
  smtpUrl: string | null
  dnsServers: readonly string[]
  /** CIDR blocks that webhooks may reach although they are not public. */
  allowPrivateWebhooks: readonly string[]
  /** Requests per minute for each key and route family; 0 turns the limit off. */
  rateLimit: number
  rateLimitWebhooks: number
  /** Submissions of signup forms per minute for each client address; 0 turns the limit off. */
  rateLimitForms: number
  /** CIDR blocks of proxies whose `X-Forwarded-For` is believed. */
  trustProxy: readonly string[]
  /** Who brings it may read /metrics from anywhere; null: nobody. */
  metricsToken: string | null
  /** How long journey runs are kept once they have ended, with what they did. */
  journeyRetentionDays: number
  /** How long reads of contacts by API are kept, in calendar months. */
  accessLogRetentionMonths: number
  /** How long imports are kept once they have ended, and the rows that they rejected. */
  importRetentionDays: number
  rejectRetentionDays: number
  /** How long the content of messages is kept once they have ended; 0: for ever. */
  messageRetentionDays: number
  /** How long the text of answers is kept; 0: for ever. */
  responseRetentionDays: number
  /** Where Stripe's API is, for tests; null: where Stripe says. */
  stripeApiUrl: string | null
  logLevel: string
  /** `text` is for people to read: `svc dev`. */
  logFormat: 'json' | 'text'
}

/** An empty variable counts as unset; `<NAME>_FILE` names a file that holds a secret. */
const collect = (env: Environment, faults: string[]): Environment => {
  const found: Environment = {}
  for (const name of Object.keys(Environment.shape)) if (env[name]) found[name] = env[name]
  for (const name of secretNames) {
    const file = env[`${name}_FILE`]
    if (!file) continue
    try {
      found[name] ??= readFileSync(file, 'utf8').trim()
    } catch {
      faults.push(`${name}_FILE names a file that can't be read`)
    }
  }
  return found
}

/** `svc dev` keeps its demo account here. */
export const demoFile = (dataDir: string): string => join(dataDir, 'demo.json')

/** `svc dev` keeps here what its mail catcher caught. */
export const mailFolder = (dataDir: string): string => join(dataDir, 'mail')

/** How the mail catcher of `svc dev` is set: what it does with mail. */
export const mailModeFile = (dataDir: string): string => join(dataDir, 'mail-mode.json')

/** Where the mail catcher of `svc dev` listens, and the pid of its process. One that was killed has left it behind. */
export const catcherFile = (dataDir: string): string => join(dataDir, 'catcher')

/** Whether there is such a process on this machine, whoever's it is. */
const isRunning = (pid: number): boolean => {
  try {
    return pid > 0 && process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Where the mail catcher of a running `svc dev` listens: mail goes where its does. null where none runs. */
export const caughtBy = (dataDir: string): string | null => {
  const file = catcherFile(dataDir)
  if (!existsSync(file)) return null
  const [url = '', pid] = readFileSync(file, 'utf8').split('\n')
  return isRunning(Number(pid)) ? url : null
}

/** Beside a running `svc dev` webhooks may go to this machine: the CLI must judge a URL as the daemon does. */
const openedBy = (dataDir: string): string[] => (caughtBy(dataDir) === null ? [] : ['127.0.0.0/8', '::1/128'])

const resolveConfig = <Secret>(env: Environment, secretOf: (dataDir: string) => Secret) => {
  const faults: string[] = []
  const parsed = Environment.safeParse(collect(env, faults))
  for (const issue of parsed.error?.issues ?? []) faults.push(`${String(issue.path[0])} ${issue.message}`)
  if (parsed.data?.DATABASE_URL && !parsed.data.SVC_SECRET) faults.push('SVC_SECRET is required with DATABASE_URL')
  if (!parsed.success || faults.length > 0) throw new Problem('configuration', faults.join('; '))
  const e = parsed.data
  const dataDir = resolve(e.SVC_DATA_DIR)
  return Object.freeze({
    databaseUrl: e.DATABASE_URL ?? null,
    dataDir,
    host: e.SVC_HOST,
    port: e.SVC_PORT,
    publicUrl: e.SVC_PUBLIC_URL?.replace(/\/+$/, '') ?? `http://${e.SVC_HOST}:${e.SVC_PORT}`,
    secret: e.SVC_SECRET ?? secretOf(dataDir),
    smtpUrl: e.SVC_SMTP_URL ?? (e.DATABASE_URL ? null : caughtBy(dataDir)),
    dnsServers: e.SVC_DNS_SERVERS,
    allowPrivateWebhooks: e.SVC_ALLOW_PRIVATE_WEBHOOKS ?? (e.DATABASE_URL ? [] : openedBy(dataDir)),
    rateLimit: e.SVC_RATE_LIMIT,
    rateLimitWebhooks: e.SVC_RATE_LIMIT_WEBHOOKS,
    rateLimitForms: e.SVC_RATE_LIMIT_FORMS,
    trustProxy: e.SVC_TRUST_PROXY,
    metricsToken: e.SVC_METRICS_TOKEN ?? null,
    journeyRetentionDays: e.SVC_JOURNEY_RETENTION_DAYS,
    accessLogRetentionMonths: e.SVC_ACCESS_LOG_RETENTION_MONTHS,
    importRetentionDays: e.SVC_IMPORT_RETENTION_DAYS,
    rejectRetentionDays: e.SVC_REJECT_RETENTION_DAYS,
    messageRetentionDays: e.SVC_MESSAGE_RETENTION_DAYS,
    responseRetentionDays: e.SVC_RESPONSE_RETENTION_DAYS,
    stripeApiUrl: e.SVC_STRIPE_API_URL ?? null,
    logLevel: e.SVC_LOG_LEVEL,
    logFormat: 'json' as Config['logFormat'],
  })
}

/**
 * The environment as one frozen, checked object; every fault at once in one Problem `configuration` (exit 4).
 * `SVC_SECRET` is demanded with `DATABASE_URL`: a secret kept on one machine would not open what another one sealed.
 */
export const readConfig = (env: Environment = process.env): Config => resolveConfig(env, keptSecret)

/** A setting as `svc config` shows it: a secret as `set`, what is not set as null. `file`: `<NAME>_FILE`, or the data folder. */
export interface Setting {
  name: string
  value: unknown
  source: 'default' | 'environment' | 'file'
}

/** What the data folder sets where the environment doesn't. */
const keptNames = ['SVC_SECRET', 'SVC_SMTP_URL', 'SVC_ALLOW_PRIVATE_WEBHOOKS']

const isEmpty = (value: unknown): boolean => value === null || (Array.isArray(value) && value.length === 0)

/** `SVC_DATA_DIR` is `dataDir` in the configuration. */
const keyOf = (name: string): string =>
  name
    .replace(/^SVC_/, '')
    .toLowerCase()
    .replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())

/** Each setting in effect, and nothing made: no folder, no secret. Throws as `readConfig`. */
export const readSettings = (env: Environment = process.env): Setting[] => {
  const config: Record<string, unknown> = resolveConfig(env, findSecret)
  return Object.keys(Environment.shape).map((name) => {
    const isSecret = (secretNames as readonly string[]).includes(name)
    const value = config[keyOf(name)] ?? null
    const isKept = keptNames.includes(name) && !isEmpty(value)
    const isInFile = isSecret && Boolean(env[`${name}_FILE`])
    return {
      name,
      value: isSecret && value !== null ? 'set' : value,
      source: env[name] ? 'environment' : isInFile || isKept ? 'file' : 'default',
    }
  })
}

/** The configuration, and nothing made: `secret` is null where none is kept yet. Throws as `readConfig`. */
export const lookAtConfig = (env: Environment = process.env): Omit<Config, 'secret'> & { secret: string | null } =>
  resolveConfig(env, findSecret)

/** As `readConfig`, for a daemon that is not `svc dev`: what one left in the data folder opens no way to this machine. */
export const readServing = (env: Environment = process.env): Config =>
  Object.freeze({ ...readConfig(env), ...(!env.SVC_ALLOW_PRIVATE_WEBHOOKS && { allowPrivateWebhooks: [] }) })

/** As `readConfig`, for who needs no secret: neither it nor the data folder is looked for, or made. */
export const readPlaces = (env: Environment = process.env): Omit<Config, 'secret'> => {
  const { secret: _, ...config } = readConfig({ ...env, SVC_SECRET: 'stands for the one that is not read' })
  return config
}

const Address = Environment.pick({ SVC_HOST: true, SVC_PORT: true, SVC_PUBLIC_URL: true })

/** Where the daemon of this environment answers: no more of it is looked at, so that a machine without the rest can call. */
export const readAddress = (env: Environment = process.env): string => {
  const parsed = Address.safeParse(collect(env, []))
  const faults = parsed.error?.issues.map((issue) => `${String(issue.path[0])} ${issue.message}`)
  if (!parsed.success) throw new Problem('configuration', faults!.join('; '))
  const { SVC_HOST: host, SVC_PORT: port, SVC_PUBLIC_URL: publicUrl } = parsed.data
  return publicUrl?.replace(/\/+$/, '') ?? `http://${/^(0\.0\.0\.0|::)$/.test(host) ? '127.0.0.1' : host}:${port}`
}
