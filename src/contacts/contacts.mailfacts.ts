import type { MailFact, Resolver } from '../net/resolver.ts'
import type { App } from '../store/work.ts'

export type Verifier = Pick<App, 'sql' | 'resolver' | 'now'>

const dnsLimitMs = 2_000
/** What ended without an answer before this was cut short, and says nothing of the name. */
const wholeAskMs = 0.9 * dnsLimitMs
/** Each query takes a socket of its own. */
const queriesAtOnce = 64

const lifetimesMs: Record<MailFact, number> = {
  mx: 24 * 3_600_000,
  null_mx: 3_600_000,
  no_mx: 3_600_000,
  domain_not_found: 3_600_000,
  timeout: 60_000,
  error: 60_000,
}

/** How DNS is asked for what the cache does not know. */
export interface Asking {
  /** Runs before; where it rejects, nobody is asked. */
  before?: () => Promise<unknown>
  /** As long as each domain takes, where a request has 2 s for all of them. */
  isPatient?: boolean
  /** Once aborted, no more domains are asked. */
  signal?: AbortSignal | undefined
}

const askDns = async (
  { resolver }: Verifier,
  domains: readonly string[],
  { isPatient, signal }: Asking,
): Promise<Map<string, MailFact>> => {
  const facts = new Map<string, MailFact>()
  const endsAt = isPatient ? Number.POSITIVE_INFINITY : performance.now() + dnsLimitMs
  const queue = domains.values()
  const ask = async () => {
    for (const domain of queue) {
      const askedAt = performance.now()
      const limitMs = Math.min(dnsLimitMs, Math.floor(endsAt - askedAt))
      if (limitMs <= 0 || signal?.aborted) return
      const fact = await resolver.mail(domain, limitMs)
      if (fact !== 'timeout' || performance.now() - askedAt >= wholeAskMs) facts.set(domain, fact)
    }
  }
  await Promise.all(Array.from({ length: Math.min(queriesAtOnce, domains.length) }, ask))
  return facts
}

/** Of two answers that cross the one that lasts longer stays: a time-out never replaces a fact. */
const keepFacts = async ({ sql, now }: Verifier, facts: ReadonlyMap<string, MailFact>): Promise<void> => {
  const rows = [...facts].sort(([a], [b]) => (a < b ? -1 : 1))
  await sql(
    `insert into mail_domains (domain, finding, expires_at) select * from unnest($1::text[], $2::text[], $3::timestamptz[])
     on conflict (domain) do update set finding = excluded.finding, expires_at = excluded.expires_at
       where mail_domains.expires_at < excluded.expires_at`,
    [
      rows.map(([domain]) => domain),
      rows.map(([, fact]) => fact),
      rows.map(([, fact]) => new Date(now().getTime() + lifetimesMs[fact])),
    ],
  )
}

const mostRemembered = 20_000

/** Domains that take mail, as this process has read of them, with the ends of their times: until then nothing changes it. */
const remembered = new WeakMap<Resolver, Map<string, Date>>()

/** What the cache that all daemons share knows. */
const cachedFacts = async ({ sql, resolver, now }: Verifier, domains: readonly string[]) => {
  const at = now()
  const ends = remembered.getOrInsertComputed(resolver, () => new Map())
  const facts = new Map<string, MailFact>()
  for (const domain of domains) if ((ends.get(domain) ?? 0) > at) facts.set(domain, 'mx')
  const others = domains.filter((domain) => !facts.has(domain))
  if (others.length === 0) return facts
  const rows = await sql<{ domain: string; finding: MailFact; expiresAt: Date }>(
    'select domain, finding, expires_at as "expiresAt" from mail_domains where domain = any($1) and expires_at > $2',
    [others, at],
    'mail-facts',
  )
  if (ends.size + rows.length > mostRemembered) ends.clear()
  for (const { domain, finding, expiresAt } of rows) {
    facts.set(domain, finding)
    if (finding === 'mx') ends.set(domain, expiresAt)
  }
  return facts
}

/** From the cache that all daemons share, else from DNS. What is not answered is a time-out, or is missing where it was cut short. */
export const mailFacts = async (
  app: Verifier,
  domains: readonly string[],
  asking: Asking = {},
): Promise<Map<string, MailFact>> => {
  if (domains.length === 0) return new Map()
  const facts = await cachedFacts(app, domains)
  const unknown = domains.filter((domain) => !facts.has(domain))
  if (unknown.length === 0) return facts
  await asking.before?.()
  const asked = await askDns(app, unknown, asking)
  if (asked.size > 0) await keepFacts(app, asked)
  for (const [domain, fact] of asked) facts.set(domain, fact)
  return facts
}
