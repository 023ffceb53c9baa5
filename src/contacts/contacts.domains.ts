import { emailDomain, isEmailSyntax } from '../lib/email.ts'
import { isTypoDomain } from './typo-domains.ts'

/** What is known of a mail domain without asking anyone: the same for the life of the process. */
export interface DomainFacts {
  /** In ASCII, as DNS knows it. */
  domain: string
  isSyntax: boolean
  disposable: boolean
  typo: boolean
}

const rememberedDomains = 20_000
const remembered = new Map<string, DomainFacts>()

/** A disposable provider's subdomains are its own. */
const isDisposable = (domain: string, blocklist: ReadonlySet<string>): boolean => {
  for (let name = domain; name.includes('.'); name = name.slice(name.indexOf('.') + 1)) {
    if (blocklist.has(name)) return true
  }
  return false
}

const factsOf = (domainText: string, blocklist: ReadonlySet<string>): DomainFacts => {
  const known = remembered.get(domainText)
  if (known) return known
  if (remembered.size >= rememberedDomains) remembered.clear()
  const domain = emailDomain(`a@${domainText}`) ?? ''
  const isSyntax = domain !== '' && isEmailSyntax(`a@${domainText}`)
  const facts = { domain, isSyntax, disposable: isDisposable(domain, blocklist), typo: isTypoDomain(domain) }
  remembered.set(domainText, facts)
  return facts
}

/** Addresses of the common kind (the only `@` after a plain local part) need no closer look: a batch has hundreds. */
const plain = /^[a-z0-9_+-]+(\.[a-z0-9_+-]+)*@[^@]+$/

/** The facts of an address's domain; null where the address is malformed. `blocklist`: the disposable domains. */
export const domainFacts = (email: string, blocklist: ReadonlySet<string>): DomainFacts | null => {
  const at = email.lastIndexOf('@')
  const facts = factsOf(email.slice(at + 1), blocklist)
  if (!facts.isSyntax) return null
  const isPlain = at <= 64 && email.length <= 254 && plain.test(email)
  return isPlain || isEmailSyntax(email) ? facts : null
}
