import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { version } from '../cli/version.ts'
import { actAsOwner, findDataFolder, readInside } from '../embedded/folder.ts'
import { Problem } from '../lib/problem.ts'
import { trimEndOf } from '../lib/strings.ts'
import { parseCidrs, reachableHost, urlHost } from '../net/addresses.ts'
import { readAuthorities } from '../net/authorities.ts'
import { parseServers } from '../net/resolver.ts'
import { relayOfUrl } from '../senders/relays.access.ts'
import { findSecret, keptSecret } from './secret.ts'

type Environment = Record<string, string | undefined>

const secretNames = ['DATABASE_URL', 'SVC_SECRET', 'SVC_SMTP_URL', 'SVC_METRICS_TOKEN'] as const

/** The same sentence for every value that it refuses, so that it names the bounds whatever the value is. */
const whole = (least: number, most: number) =>
  z
    .string()
    .refine(
      (text) => /^\d+$/.test(text) && Number(text) >= least && Number(text) <= most,
      `must be a whole number from ${least} to ${most}`,
    )
    .transform(Number)
const count = whole(0, 999_999_999)
/** A retention period. Its maximum keeps the cut-off date after 1970. If `least` is 0, the value 0 means for ever. */
const upTo = (most: number, least = 1) => whole(least, most)
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

/** Returns a check whether `parse` accepts a value. */
const isAccepted =
  (parse: (text: string) => unknown) =>
  (given: string | readonly string[]): boolean => {
    try {
      parse(String(given))
      return true
    } catch {
      return false
    }
  }

/** The settings of the daemon and the CLI (docs/reference/cli.md#settings). */
const Environment = z.object({
  DATABASE_URL: url(/^postgres(ql)?:$/, 'postgres://user:password@host:5432/svc').optional(),
  SVC_DATA_DIR: z.string().optional(),
  SVC_HOST: z
    .string()
    .regex(/^[A-Za-z0-9._:-]+$/, 'must be an address or a host name')
    .default('127.0.0.1'),
  SVC_PORT: whole(0, 65_535).default(4800),
  SVC_PUBLIC_URL: url(/^https?:$/, 'https://mail.example.com')
    .refine((text) => {
      const url = URL.parse(text)
      return !url || url.username + url.password + url.search + url.hash === ''
    }, 'must have no credentials, query or fragment')
    // URL.href is ASCII, as headers need it.
    .transform((text) => trimEndOf(URL.parse(text)?.href ?? text, '/'))
    .optional(),
  SVC_SECRET: z.string().min(16, 'must have at least 16 characters').optional(),
  SVC_SMTP_URL: url(/^smtps?:$/, 'smtp://user:password@host:587')
    .refine(
      (text) => !URL.canParse(text) || /^(\?tls=optional)?$/.test(new URL(text).search),
      'can have only the parameter ?tls=optional',
    )
    .refine(
      (text) => !URL.canParse(text) || isAccepted(relayOfUrl)(text),
      'has a % that is not followed by two hex digits',
    )
    .optional(),
  SVC_CA_FILE: z.string().refine(isAccepted(readAuthorities), 'must name a file of certificates (PEM)').optional(),
  SVC_DNS_SERVERS: commaSeparated.refine(isAccepted(parseServers), 'must be ip[:port], comma-separated').default([]),
  SVC_ALLOW_PRIVATE_WEBHOOKS: commaSeparated
    .refine(isAccepted(parseCidrs), 'must be addresses or CIDR blocks, comma-separated')
    .optional(),
  SVC_RATE_LIMIT: count.default(60),
  SVC_RATE_LIMIT_WEBHOOKS: count.default(30),
  SVC_RATE_LIMIT_FORMS: count.default(30),
  SVC_CONSENT_ADDRESSES: z.enum(['on', 'off'], 'must be on or off').default('off'),
  SVC_RATE_LIMIT_PUBLIC: count.default(300),
  SVC_TRUST_PROXY: commaSeparated
    .refine(isAccepted(parseCidrs), 'must be addresses or CIDR blocks, comma-separated')
    .default([]),
  SVC_METRICS_TOKEN: z.string().min(16, 'must have at least 16 characters').optional(),
  SVC_JOURNEY_RETENTION_DAYS: upTo(10_000).default(90),
  SVC_ACCESS_LOG_RETENTION_MONTHS: upTo(300).default(13),
  SVC_IMPORT_RETENTION_DAYS: upTo(10_000).default(90),
  SVC_REJECT_RETENTION_DAYS: upTo(10_000).default(90),
  SVC_MESSAGE_RETENTION_DAYS: upTo(10_000, 0).default(90),
  SVC_RESPONSE_RETENTION_DAYS: upTo(10_000, 0).default(0),
  SVC_ERASURES_FILE: z.string().optional(),
  SVC_STRIPE_API_URL: url(/^https?:$/, 'http://127.0.0.1:12111')
    .refine((text) => !URL.canParse(text) || /^\/?$/.test(new URL(text).pathname), 'must have no path')
    .optional(),
  SVC_LOG_LEVEL: z.enum(logLevels, `must be one of ${logLevels.join(', ')}`).default('info'),
})

/** An empty variable counts as unset; `<NAME>_FILE` names a file that holds a secret. */
const collect = (env: Environment, faults: string[]): Environment => {
  const found: Environment = {}
  for (const name of Object.keys(Environment.shape)) if (env[name]) found[name] = env[name]
  for (const name of secretNames) {
    const file = env[`${name}_FILE`]
    if (!file) continue
    try {
      const text = readFileSync(file, 'utf8').trim()
      found[name] ??= text
      if (found[name] !== text) faults.push(`${name} and ${name}_FILE have different values: set only one`)
    } catch {
      faults.push(`${name}_FILE names a file that can't be read`)
    }
  }
  return found
}

/** Returns the data folder of the environment, otherwise the nearest one (embedded/folder.ts). */
export const dataDirOf = ({ SVC_DATA_DIR: named }: { SVC_DATA_DIR?: string | undefined }): string =>
  named ? resolve(named) : findDataFolder(process.cwd())

/** The file of `svc dev` with its demo account. */
export const demoFile = (dataDir: string): string => join(dataDir, 'demo.json')

/** The folder of `svc dev` with caught emails. */
export const mailFolder = (dataDir: string): string => join(dataDir, 'mail')

/** The file with the mode of the mail catcher of `svc dev`. */
export const mailModeFile = (dataDir: string): string => join(dataDir, 'mail-mode.json')

/** The file with the address of the mail catcher of `svc dev`, and its process id. It remains after a kill. */
export const catcherFile = (dataDir: string): string => join(dataDir, 'catcher')

/** Whether this process exists on this machine; EPERM means that it belongs to another user. */
const isRunning = (pid: number): boolean => {
  try {
    return pid > 0 && process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Returns the SMTP URL of the mail catcher of a running `svc dev`, or null if none runs. Commands send there, too. */
export const runningCatcher = (dataDir: string): string | null => {
  const [url = '', pid] = readInside(catcherFile(dataDir))?.split('\n') ?? []
  return isRunning(Number(pid)) ? url : null
}

/** While `svc dev` runs, webhooks may target this machine: the CLI must accept the same URLs as the daemon. */
const allowedBesideDev = (dataDir: string): string[] =>
  runningCatcher(dataDir) === null ? [] : ['127.0.0.0/8', '::1/128']

const resolveConfig = <Secret>(env: Environment, secretOf: (dataDir: string) => Secret) => {
  const faults: string[] = []
  const given = collect(env, faults)
  const parsed = Environment.safeParse(given)
  for (const issue of parsed.error?.issues ?? []) faults.push(`${String(issue.path[0])} ${issue.message}`)
  if (given.DATABASE_URL && !given.SVC_SECRET) faults.push('SVC_SECRET is required with DATABASE_URL')
  if (!parsed.success || faults.length > 0) throw new Problem('configuration', faults.join('; '))
  const e = parsed.data
  const dataDir = dataDirOf(e)
  const authorities = e.SVC_CA_FILE ? readAuthorities(e.SVC_CA_FILE) : []
  // From here on files of the data folder are read as its owner. Files named by the environment were read before, as root.
  if (!e.DATABASE_URL) actAsOwner(dataDir)
  return Object.freeze({
    /** It is null for the embedded server under `dataDir`. */
    databaseUrl: e.DATABASE_URL ?? null,
    dataDir,
    host: e.SVC_HOST,
    port: e.SVC_PORT,
    publicUrl: e.SVC_PUBLIC_URL ?? `http://${urlHost(e.SVC_HOST)}:${e.SVC_PORT}`,
    secret: e.SVC_SECRET ?? secretOf(dataDir),
    smtpUrl: e.SVC_SMTP_URL ?? (e.DATABASE_URL ? null : runningCatcher(dataDir)),
    caFile: e.SVC_CA_FILE ?? null,
    /** The certificates in `caFile`. */
    authorities,
    /** The list of erasures (erasures.ts). It is null if none is kept. */
    erasuresFile: e.SVC_ERASURES_FILE
      ? resolve(e.SVC_ERASURES_FILE)
      : e.DATABASE_URL
        ? null
        : join(dataDir, 'erasures'),
    dnsServers: e.SVC_DNS_SERVERS,
    allowPrivateWebhooks: e.SVC_ALLOW_PRIVATE_WEBHOOKS ?? (e.DATABASE_URL ? [] : allowedBesideDev(dataDir)),
    rateLimit: e.SVC_RATE_LIMIT,
    rateLimitWebhooks: e.SVC_RATE_LIMIT_WEBHOOKS,
    rateLimitForms: e.SVC_RATE_LIMIT_FORMS,
    consentAddresses: e.SVC_CONSENT_ADDRESSES === 'on',
    rateLimitPublic: e.SVC_RATE_LIMIT_PUBLIC,
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
    /** `text` is for people to read: `svc dev`. */
    logFormat: 'json' as 'json' | 'text',
  })
}

export type Config = ReturnType<typeof resolveConfig<string>>

/**
 * Returns the validated environment as a frozen object. Throws one Problem `configuration` (exit 4) that lists every error.
 * `DATABASE_URL` requires `SVC_SECRET`: a secret in the data folder of one machine can't open what another machine sealed.
 */
export const readConfig = (env: Environment = process.env): Config => resolveConfig(env, keptSecret)

/** A setting for `svc config`. A secret has the value `set`. The source `file` means `<NAME>_FILE` or the data folder. */
export interface Setting {
  name: string
  value: unknown
  source: 'default' | 'environment' | 'file'
}

/** Settings that the data folder provides if the environment doesn't. */
const keptNames = ['SVC_SECRET', 'SVC_SMTP_URL', 'SVC_ALLOW_PRIVATE_WEBHOOKS']

/** Returns a value as its setting takes it: switches are on or off. */
const asGiven = (value: unknown): unknown => (typeof value === 'boolean' ? (value ? 'on' : 'off') : value)

const isEmpty = (value: unknown): boolean => value === null || (Array.isArray(value) && value.length === 0)

/** Returns the property of a setting: `dataDir` for `SVC_DATA_DIR`. */
const keyOf = (name: string): string =>
  name
    .replace(/^SVC_/, '')
    .toLowerCase()
    .replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())

/**
 * Returns each setting in effect, without creating the data folder or a secret. Throws one Problem `configuration` that lists every
 * error.
 */
export const readSettings = (env: Environment = process.env): Setting[] => {
  const config: Record<string, unknown> = resolveConfig(env, findSecret)
  return Object.keys(Environment.shape).map((name) => {
    const isSecret = (secretNames as readonly string[]).includes(name)
    const value = asGiven(config[keyOf(name)] ?? null)
    const isKept = keptNames.includes(name) && !isEmpty(value)
    const isInFile = isSecret && Boolean(env[`${name}_FILE`])
    return {
      name,
      value: isSecret && value !== null ? 'set' : value,
      source: env[name] ? 'environment' : isInFile || isKept ? 'file' : 'default',
    }
  })
}

/**
 * Returns the configuration without creating the data folder or a secret: `secret` is null if there is none yet. Throws one Problem
 * `configuration` that lists every error.
 */
export const inspectConfig = (env: Environment = process.env) => resolveConfig(env, findSecret)

const withoutUser = (url: string): string => {
  const { protocol, host } = new URL(url)
  return `${protocol}//${host}`
}

/** Returns the settings that a command should share with the daemon of its database, without secrets. */
export const sharedSettings = (config: Omit<Config, 'secret'>): Record<string, unknown> => ({
  version: version(),
  SVC_PORT: config.port,
  SVC_SMTP_URL: config.smtpUrl && withoutUser(config.smtpUrl),
  SVC_CA_FILE: config.caFile,
  SVC_DNS_SERVERS: config.dnsServers,
  SVC_ALLOW_PRIVATE_WEBHOOKS: config.allowPrivateWebhooks,
  SVC_STRIPE_API_URL: config.stripeApiUrl,
})

/** Returns the configuration of a daemon that is not `svc dev`: a running `svc dev` does not let its webhooks reach this machine. */
export const daemonConfig = (config: Config, env: Environment = process.env): Config =>
  Object.freeze({ ...config, ...(!env.SVC_ALLOW_PRIVATE_WEBHOOKS && { allowPrivateWebhooks: [] }) })

/** Returns the configuration without a secret. It neither reads nor creates the secret or the data folder. */
export const readPlaces = (env: Environment = process.env): Omit<Config, 'secret'> => {
  const { secret: _, ...config } = readConfig({
    ...env,
    SVC_SECRET: 'not used, and not in the result',
    SVC_SECRET_FILE: undefined,
  })
  return config
}

const Address = Environment.pick({ SVC_HOST: true, SVC_PORT: true, SVC_PUBLIC_URL: true })

/** Returns the URL of the daemon. Reads no other settings, so that `svc api` works on a machine without them. */
export const readAddress = (env: Environment = process.env): string => {
  const parsed = Address.safeParse(collect(env, []))
  const faults = parsed.error?.issues.map((issue) => `${String(issue.path[0])} ${issue.message}`)
  if (!parsed.success) throw new Problem('configuration', faults!.join('; '))
  const { SVC_HOST: host, SVC_PORT: port, SVC_PUBLIC_URL: publicUrl } = parsed.data
  return publicUrl ?? `http://${reachableHost(host)}:${port}`
}
