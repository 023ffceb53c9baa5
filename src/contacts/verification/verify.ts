import type { MxResult } from '../../net/resolver.ts'
import { type LookupOptions, mailFacts, type Verifier } from './dns.ts'
import { type DomainFacts, domainFacts } from './mail-domains.ts'
import { type Reason, resultOf, type VerificationResult } from './result.ts'

/*
 * Local parts that name a function, not a person: from RFC 2142 and the lists of common mail systems. Short on purpose: names that
 * people also have (alexa, grant, mark) are left out.
 */
const roleAccounts = new Set(
  `abuse accounting accounts admin administrator advertising all alerts automated billing bookings bounce bounces career careers
   compliance contact contactus customercare customerservice daemon devnull dns donotreply enquiries enquiry everyone feedback
   finance ftp hello help helpdesk hostmaster hr info information inquiries inquiry investorrelations invoice invoices it
   itsupport jobs legal list listserv mail mailer-daemon mailerdaemon majordomo marketing media moderator news newsletter
   newsletters noc no-reply no_reply no.reply noreply do-not-reply do_not_reply notification notifications nobody null office
   operations ops orders owner payments phish phishing postmaster pr press privacy recruiting recruitment registrar remove
   request reservations returns root sales security service shop spam staff subscribe subscriptions support sysadmin system team
   tech techsupport undisclosed-recipients unsubscribe usenet uucp web webadmin webmaster www
   kontakt buchhaltung vertrieb verkauf bestellung rechnung bewerbung contacto ventas soporte facturacion contato vendas suporte
   financeiro comptabilite commercial facturation amministrazione commerciale biuro kancelaria klantenservice
   verkoop`.split(/\s+/),
)

/** Returns whether the address belongs to a function (`sales@…`, `no-reply@…`). Ignores a `+tag`. */
const isRoleAccount = (email: string): boolean => {
  const local = email.slice(0, email.lastIndexOf('@'))
  const plus = local.indexOf('+')
  return roleAccounts.has(plus < 0 ? local : local.slice(0, plus))
}

let blocklist: ReadonlySet<string> | undefined

const loadBlocklist = async (): Promise<ReadonlySet<string>> =>
  (blocklist ??= (await import('disposable-email-domains-js')).disposableEmailBlocklistSet())

const dnsReasons: Record<MxResult, Reason | null> = {
  mx: null,
  null_mx: 'null_mx',
  no_mx: 'no_mx',
  domain_not_found: 'domain_not_found',
  timeout: 'dns_timeout',
  error: 'dns_error',
}

const classifyAddress = (email: string, { disposable, typo }: DomainFacts, fact: MxResult): VerificationResult => {
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
