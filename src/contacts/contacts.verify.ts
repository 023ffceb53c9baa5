import type { MailFact } from '../net/resolver.ts'
import type { App, Work } from '../store/work.ts'
import { type DomainFacts, domainFacts } from './contacts.domains.ts'
import { type Judged, withFindings } from './contacts.findings.ts'
import { type Reason, type Verdict, verdictOf } from './contacts.verdict.ts'
import { isRoleAccount } from './role-accounts.ts'

export type Verifier = Pick<App, 'sql' | 'resolver' | 'now'>

const dnsLimitMs = 2_000
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

let blocklist: ReadonlySet<string> | undefined

const loadBlocklist = async (): Promise<ReadonlySet<string>> =>
  (blocklist ??= (await import('disposable-email-domains-js')).disposableEmailBlocklistSet())

const dnsReasons: Record<MailFact, Reason | null> = {
  mx: null,
  null_mx: 'null_mx',
  no_mx: 'no_mx',
  domain_not_found: 'domain_not_found',
  timeout: 'dns_timeout',
  error: 'dns_error',
}

const judge = (email: string, { disposable, typo }: DomainFacts, fact: MailFact): Verdict => {
  const dns = dnsReasons[fact]
  const reasons: Reason[] = dns ? [dns] : []
  if (disposable) reasons.push('disposable')
  if (isRoleAccount(email)) reasons.push('role_account')
  if (typo) reasons.push('typo_domain')
  return verdictOf(reasons)
}

const askDns = async ({ resolver }: Verifier, domains: readonly string[]): Promise<Map<string, MailFact>> => {
  const facts = new Map<string, MailFact>()
  const endsAt = performance.now() + dnsLimitMs
  const queue = domains.values()
  const ask = async () => {
    for (const domain of queue) {
      const leftMs = Math.floor(endsAt - performance.now())
      if (leftMs <= 0) return
      facts.set(domain, await resolver.mail(domain, leftMs))
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

/** From the cache that all daemons share, else from DNS within 2 s in all; what is not answered by then is a time-out. */
const mailFacts = async (app: Verifier, domains: readonly string[]): Promise<Map<string, MailFact>> => {
  if (domains.length === 0) return new Map()
  const rows = await app.sql<{ domain: string; finding: MailFact }>(
    'select domain, finding from mail_domains where domain = any($1) and expires_at > $2',
    [domains, app.now()],
    'mail-facts',
  )
  const facts = new Map(rows.map((row) => [row.domain, row.finding]))
  const unknown = domains.filter((domain) => !facts.has(domain))
  if (unknown.length === 0) return facts
  const asked = await askDns(app, unknown)
  if (asked.size > 0) await keepFacts(app, asked)
  for (const [domain, fact] of asked) facts.set(domain, fact)
  return facts
}

/**
 * Judges normalised addresses: syntax, DNS (once for a domain, 2 s in all), lists of disposable domains, of roles and of
 * misspelt providers. Asks DNS, so call it before the transaction (decisions.md, Contacts).
 */
export const verifyAddresses = async (app: Verifier, emails: readonly string[]): Promise<Map<string, Verdict>> => {
  const disposable = await loadBlocklist()
  const known = new Map(emails.map((email) => [email, domainFacts(email, disposable)]))
  const domains = new Set([...known.values()].flatMap((facts) => facts?.domain ?? []))
  const answers = await mailFacts(app, [...domains])
  const verdicts = new Map<string, Verdict>()
  for (const [email, facts] of known) {
    const answer = facts && (answers.get(facts.domain) ?? 'timeout')
    verdicts.set(email, answer ? judge(email, facts, answer) : verdictOf(['bad_syntax']))
  }
  return verdicts
}

/** Writes verdicts where they differ and gives how many did. */
const keepVerdicts = async (app: Pick<Work, 'sql'>, judged: readonly Judged[], now: Date): Promise<number> => {
  const rows = await app.sql(
    `with judged as (
       select * from jsonb_to_recordset($1::jsonb) as j("accountId" text, email text, status text, reasons text[])
     ), held as (
       select a.account_id, a.email, j.status, j.reasons from judged j
         join addresses a on a.account_id = j."accountId" and a.email = j.email
       where (a.verification_status, a.verification_reasons) is distinct from (j.status, j.reasons)
       order by a.account_id, a.email for no key update of a
     )
     update addresses a set verification_status = h.status, verification_reasons = h.reasons, verified_at = $2
     from held h where a.account_id = h.account_id and a.email = h.email returning 1`,
    [JSON.stringify(judged), now],
  )
  return rows.length
}

const pageSize = 500

const unknownOf = (app: Verifier, domains: readonly string[], after: { accountId: string; email: string }) =>
  app.sql<{ accountId: string; email: string }>(
    `select account_id as "accountId", email from addresses
     where verification_status = 'unknown' and domain = any($1) and (account_id, email) > ($2, $3)
     order by account_id, email limit ${pageSize}`,
    [domains, after.accountId, after.email],
  )

/** Domains that one round of re-checks takes. */
const recheckedAtOnce = 200

/**
 * Judges the `unknown` addresses of some domains again, those asked longest ago first, and gives how many got a verdict.
 * Across accounts: a job's work. No contact changes, so none is updated and no event fires. Stops early at `signal`.
 */
export const recheckDomains = async (app: Verifier, signal: AbortSignal): Promise<number> => {
  const due = await app.sql<{ domain: string }>(
    `select d.domain from (select distinct domain from addresses where verification_status = 'unknown') d
       left join mail_domains m on m.domain = d.domain
     where m.domain is null or m.expires_at <= $1 or m.finding not in ('timeout', 'error')
     order by m.expires_at nulls first, d.domain limit $2`,
    [app.now(), recheckedAtOnce],
  )
  const domains = due.map((row) => row.domain)
  let changed = 0
  let last = { accountId: '', email: '' }
  while (domains.length > 0 && !signal.aborted) {
    const page = await unknownOf(app, domains, last)
    if (page.length === 0) break
    last = page.at(-1)!
    const verdicts = await verifyAddresses(app, [...new Set(page.map((row) => row.email))])
    const decided = page.flatMap((row) => {
      const verdict = verdicts.get(row.email)!
      return verdict.status === 'unknown' ? [] : [{ ...row, ...verdict }]
    })
    changed += await keepVerdicts(app, await withFindings(app.sql, decided), app.now())
  }
  return changed
}

/** Judges one kept address of an account afresh (`svc contacts verify`), as far as the DNS cache allows. */
export const verifyAddress = async (app: Verifier, accountId: string, email: string): Promise<Verdict> => {
  const verdict = (await verifyAddresses(app, [email])).get(email)!
  const judged = await withFindings(app.sql, [{ accountId, email, ...verdict }])
  await keepVerdicts(app, judged, app.now())
  return judged[0]!
}
