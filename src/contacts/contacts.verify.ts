import type { MailFact } from '../net/resolver.ts'
import { type DomainFacts, domainFacts } from './contacts.domains.ts'
import { type Asking, mailFacts, type Verifier } from './contacts.mailfacts.ts'
import { type Reason, type Verdict, verdictOf } from './contacts.verdict.ts'
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

const judge = (email: string, { disposable, typo }: DomainFacts, fact: MailFact): Verdict => {
  const dns = dnsReasons[fact]
  const reasons: Reason[] = dns ? [dns] : []
  if (disposable) reasons.push('disposable')
  if (isRoleAccount(email)) reasons.push('role_account')
  if (typo) reasons.push('typo_domain')
  return verdictOf(reasons)
}

/**
 * Judges normalised addresses: syntax, DNS (once for a domain, 2 s in all unless it is patient), lists of disposable domains,
 * of roles and of misspelt providers. Asks DNS, so call it before the transaction (decisions.md, Contacts).
 */
export const verifyAddresses = async (
  app: Verifier,
  emails: readonly string[],
  asking?: Asking,
): Promise<Map<string, Verdict>> => {
  const disposable = await loadBlocklist()
  const known = emails.map((email) => domainFacts(email, disposable))
  const domains = new Set<string>()
  for (const facts of known) if (facts) domains.add(facts.domain)
  const answers = await mailFacts(app, [...domains], asking)
  const verdicts = new Map<string, Verdict>()
  for (const [i, email] of emails.entries()) {
    const facts = known[i]
    const answer = facts && (answers.get(facts.domain) ?? 'timeout')
    verdicts.set(email, answer ? judge(email, facts, answer) : verdictOf(['bad_syntax']))
  }
  return verdicts
}
