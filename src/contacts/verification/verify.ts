import type { MailFact } from '../../net/resolver.ts'
import { type LookupOptions, mailFacts, type Verifier } from './dns.ts'
import { type DomainFacts, domainFacts } from './domains.ts'
import { type Reason, resultOf, type VerificationResult } from './result.ts'
import { isRoleAccount } from './role-accounts.ts'

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

const classifyAddress = (email: string, { disposable, typo }: DomainFacts, fact: MailFact): VerificationResult => {
  const dns = dnsReasons[fact]
  const reasons: Reason[] = dns ? [dns] : []
  if (disposable) reasons.push('disposable')
  if (isRoleAccount(email)) reasons.push('role_account')
  if (typo) reasons.push('typo_domain')
  return resultOf(reasons)
}

/**
 * Verifies normalised addresses: syntax, DNS (once for each domain, 2 s in all unless `isPatient`), disposable domains, role accounts and
 * misspelt providers. Asks DNS, so call it before the transaction (docs/reference/rules.md#verification).
 */
export const verifyAddresses = async (
  app: Verifier,
  emails: readonly string[],
  options?: LookupOptions,
): Promise<Map<string, VerificationResult>> => {
  const disposable = await loadBlocklist()
  const known = emails.map((email) => domainFacts(email, disposable))
  const domains = new Set<string>()
  for (const facts of known) if (facts) domains.add(facts.domain)
  const answers = await mailFacts(app, [...domains], options)
  const verifications = new Map<string, VerificationResult>()
  for (const [i, email] of emails.entries()) {
    const facts = known[i]
    const answer = facts && (answers.get(facts.domain) ?? 'timeout')
    verifications.set(email, answer ? classifyAddress(email, facts, answer) : resultOf(['bad_syntax']))
  }
  return verifications
}
