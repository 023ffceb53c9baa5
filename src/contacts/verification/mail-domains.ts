/*
 * A process remembers domains that take email. Each write asks the shared cache for the domains of its addresses. A
 * process remembers positive answers for as long as the shared cache would keep them. An operator who deletes rows of
 * `mail_domains` must restart the daemons.
 */

import { emailDomain, isEmailSyntax } from '../../lib/email.ts'
import { isTypoDomain } from './typo-domains.ts'

/** Facts about a mail domain that need no query. They do not change while the process runs. */
export interface DomainFacts {
  /** The domain in ASCII, as DNS knows it. */
  domain: string
  isSyntax: boolean
  disposable: boolean
  typo: boolean
}

const maxRemembered = 20_000
const remembered = new Map<string, DomainFacts>()

/** Subdomains of a disposable provider count as disposable, too. */
const isDisposable = (domain: string, blocklist: ReadonlySet<string>): boolean => {
  for (let name = domain; name.includes('.'); name = name.slice(name.indexOf('.') + 1)) {
    if (blocklist.has(name)) return true
  }
  return false
}

const factsOf = (domainText: string, blocklist: ReadonlySet<string>): DomainFacts => {
  const known = remembered.get(domainText)
  if (known) return known
  if (remembered.size >= maxRemembered) remembered.clear()
  const domain = emailDomain(`a@${domainText}`) ?? ''
  const isSyntax = domain !== '' && isEmailSyntax(`a@${domainText}`)
  const facts = { domain, isSyntax, disposable: isDisposable(domain, blocklist), typo: isTypoDomain(domain) }
  remembered.set(domainText, facts)
  return facts
}

/**
 * Common addresses (a plain local part, one `@`) skip the full syntax check, with which an import takes 8 % more CPU of Node (bench
 * `import`, 2026-11-29).
 */
const plain = /^[a-z0-9_+-]+(\.[a-z0-9_+-]+)*@[^@]+$/

/** Returns the facts of an address's domain, or null if the address is malformed. `blocklist` has the disposable domains. */
export const domainFacts = (email: string, blocklist: ReadonlySet<string>): DomainFacts | null => {
  const at = email.lastIndexOf('@')
  const facts = factsOf(email.slice(at + 1), blocklist)
  if (!facts.isSyntax) return null
  const isPlain = at <= 64 && email.length <= 254 && plain.test(email)
  return isPlain || isEmailSyntax(email) ? facts : null
}
