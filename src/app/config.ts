import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { Problem } from '../lib/problem.ts'
import { parseCidrs } from '../net/addresses.ts'
import { parseServers } from '../net/resolver.ts'

type Environment = Record<string, string | undefined>

const secretNames = ['DATABASE_URL', 'SVC_SECRET', 'SVC_SMTP_URL'] as const

const count = z
  .string()
  .regex(/^\d{1,9}$/, 'must be a whole number')
  .transform(Number)
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
  SVC_JOURNEY_RETENTION_DAYS: count.refine((days) => days > 0, 'must be at least 1').default(90),
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
  /** How long journey runs are kept once they have ended, with what they did. */
  journeyRetentionDays: number
  /** Where Stripe's API is, for tests; null: where Stripe says. */
  stripeApiUrl: string | null
  logLevel: string
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

/** `svc dev` keeps its demo account here, and so marks the folder as one for development. */
export const demoFile = (dataDir: string): string => join(dataDir, 'demo.json')

/** `svc dev` keeps here what its mail catcher caught. */
export const mailFolder = (dataDir: string): string => join(dataDir, 'mail')

/** How the mail catcher of `svc dev` is set: what it does with mail. */
export const mailModeFile = (dataDir: string): string => join(dataDir, 'mail-mode.json')

/** Where the mail catcher of a running `svc dev` listens. */
export const catcherFile = (dataDir: string): string => join(dataDir, 'catcher')

/** Beside a running `svc dev` mail goes where its does. */
const caughtBy = (dataDir: string): string | null => {
  const file = catcherFile(dataDir)
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : null
}

/** In a folder for development webhooks may go to this machine: the CLI must judge a URL as the daemon beside it does. */
const openedBy = (dataDir: string): string[] => (existsSync(demoFile(dataDir)) ? ['127.0.0.0/8', '::1/128'] : [])

/** The embedded database brings its secret along: made once, kept in the data folder, readable by its owner alone. */
const keptSecret = (dataDir: string): string => {
  const file = join(dataDir, 'secret')
  try {
    mkdirSync(dataDir, { recursive: true })
    if (!existsSync(file)) makeSecret(file)
    const secret = readFileSync(file, 'utf8').trim()
    if (secret.length >= 16) return secret
  } catch (error) {
    throw new Problem(
      'configuration',
      `The data folder ${dataDir} can't be used (${(error as NodeJS.ErrnoException).code})`,
      {
        hint: 'set SVC_DATA_DIR to a folder that this user may write',
      },
    )
  }
  throw new Problem('configuration', `The file ${file} holds no secret`, { hint: 'restore it, or set SVC_SECRET' })
}

/** Whole or not at all, and the first of two processes wins: a link to a file that is already written. */
const makeSecret = (file: string): void => {
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, randomBytes(32).toString('base64url'), { mode: 0o600 })
  try {
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(draft)
  }
}

/**
 * The environment as one frozen, checked object; every fault at once in one Problem `configuration` (exit 4).
 * `SVC_SECRET` is demanded with `DATABASE_URL`: a secret kept on one machine would not open what another one sealed.
 */
export const readConfig = (env: Environment = process.env): Config => {
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
    secret: e.SVC_SECRET ?? keptSecret(dataDir),
    smtpUrl: e.SVC_SMTP_URL ?? (e.DATABASE_URL ? null : caughtBy(dataDir)),
    dnsServers: e.SVC_DNS_SERVERS,
    allowPrivateWebhooks: e.SVC_ALLOW_PRIVATE_WEBHOOKS ?? (e.DATABASE_URL ? [] : openedBy(dataDir)),
    rateLimit: e.SVC_RATE_LIMIT,
    rateLimitWebhooks: e.SVC_RATE_LIMIT_WEBHOOKS,
    rateLimitForms: e.SVC_RATE_LIMIT_FORMS,
    trustProxy: e.SVC_TRUST_PROXY,
    journeyRetentionDays: e.SVC_JOURNEY_RETENTION_DAYS,
    stripeApiUrl: e.SVC_STRIPE_API_URL ?? null,
    logLevel: e.SVC_LOG_LEVEL,
  })
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
