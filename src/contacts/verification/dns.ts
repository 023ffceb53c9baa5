import type { MxResult, Resolver } from '../../net/resolver.ts'
import { opaqueArray } from '../../store/arrays.ts'
import { typed } from '../../store/column-types.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import type { App } from '../../store/work.ts'

export type Verifier = Pick<App, 'sql' | 'resolver' | 'now'>

const dnsLimitMs = 2_000
/** A query that ended earlier without an answer was cut short, which is not a time-out of the name server. */
const fullQueryMs = 0.9 * dnsLimitMs
/** Concurrent queries; each needs a socket. */
const queriesAtOnce = 64

const lifetimesMs: Record<MxResult, number> = {
  mx: 24 * 3_600_000,
  null_mx: 3_600_000,
  no_mx: 3_600_000,
  domain_not_found: 3_600_000,
  timeout: 60_000,
  error: 60_000,
}

/** How to query DNS for domains that are not cached. */
export interface LookupOptions {
  /** Runs before the queries; if it rejects, none is sent. */
  before?: () => Promise<unknown>
  /** Allows 2 s for each domain, instead of 2 s for all of them. */
  isPatient?: boolean
  /** When aborted, no more queries start. */
  signal?: AbortSignal | undefined
}

const maxRemembered = 20_000

/** Domains that accept mail, with the expiry of the answer. Such an answer does not change before it expires. */
const remembered = new WeakMap<Resolver, Map<string, Date>>()

const rememberedBy = (resolver: Resolver): Map<string, Date> =>
  remembered.getOrInsertComputed(resolver, () => new Map())

const askDns = async (
  { resolver, now }: Verifier,
  domains: readonly string[],
  { isPatient, signal }: LookupOptions,
): Promise<Map<string, MxResult>> => {
  const ends = rememberedBy(resolver)
  const facts = new Map<string, MxResult>()
  const endsAt = isPatient ? Number.POSITIVE_INFINITY : performance.now() + dnsLimitMs
  const queue = domains.values()
  const ask = async () => {
    for (const domain of queue) {
      const askedAt = performance.now()
      const limitMs = Math.min(dnsLimitMs, Math.floor(endsAt - askedAt))
      if (limitMs <= 0 || signal?.aborted) return
      // Another call may have the answer, although it is not in the cache yet.
      const isKnown = (ends.get(domain) ?? 0) > now()
      // `facts` identifies the request: the resolver shares its capacity fairly between requests, not between domains.
      const fact = isKnown ? 'mx' : await resolver.mail(domain, limitMs, facts)
      if (!fact || (fact === 'timeout' && performance.now() - askedAt < fullQueryMs)) continue
      facts.set(domain, fact)
      if (fact === 'mx' && !isKnown) ends.set(domain, new Date(now().getTime() + lifetimesMs.mx))
    }
  }
  await Promise.all(Array.from({ length: Math.min(queriesAtOnce, domains.length) }, ask))
  return facts
}

const cacheFacts = statement(
  'cache-mail-facts',
  { parameters: { domains: '_text', facts: '_text', times: '_timestamptz' } },
  `insert into mail_domains (domain, finding, expires_at) select * from unnest(:domains::text[], :facts::text[], :times::timestamptz[])
   on conflict (domain) do update set finding = excluded.finding, expires_at = excluded.expires_at
     where mail_domains.expires_at < excluded.expires_at`,
)

/** Caches answers. Of two concurrent answers the one with the longer lifetime stays, so a time-out never replaces an answer. */
const keepFacts = async ({ sql, now }: Verifier, facts: ReadonlyMap<string, MxResult>): Promise<void> => {
  const rows = [...facts].sort(([a], [b]) => (a < b ? -1 : 1))
  await sql(cacheFacts, {
    domains: rows.map(([domain]) => domain),
    facts: rows.map(([, fact]) => fact),
    times: rows.map(([, fact]) => new Date(now().getTime() + lifetimesMs[fact])),
  })
}

const readFacts = preparedStatement(
  'mail-facts',
  {
    row: { domain: 'text', finding: typed<MxResult>('text'), expiresAt: 'timestamptz' },
    parameters: { domains: '_text', at: 'timestamptz' },
  },
  `select domain, finding, expires_at as "expiresAt" from mail_domains
   where domain = any(${opaqueArray(':domains')}::text[]) and expires_at > :at`,
)

/** Returns answers from the cache, which all daemons share. */
const cachedFacts = async ({ sql, resolver, now }: Verifier, domains: readonly string[]) => {
  const at = now()
  const ends = rememberedBy(resolver)
  const facts = new Map<string, MxResult>()
  for (const domain of domains) if ((ends.get(domain) ?? 0) > at) facts.set(domain, 'mx')
  const others = domains.filter((domain) => !facts.has(domain))
  if (others.length === 0) return facts
  const rows = await sql(readFacts, { domains: others, at })
  if (ends.size + rows.length > maxRemembered) ends.clear()
  for (const { domain, finding, expiresAt } of rows) {
    facts.set(domain, finding)
    if (finding === 'mx') ends.set(domain, expiresAt)
  }
  return facts
}

/**
 * Returns the answers from the cache that all daemons share, else from DNS. A domain without an answer is a `timeout`, or is absent if the
 * query was cut short.
 */
export const mailFacts = async (
  app: Verifier,
  domains: readonly string[],
  asking: LookupOptions = {},
): Promise<Map<string, MxResult>> => {
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
