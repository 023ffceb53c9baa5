import type { MailFact, Resolver } from './resolver.ts'

const taking = /(^|\.)(example\.(com|net|org)|example|test|localhost)$/
const absent = /(^|\.)invalid$/

/** Returns the fact that a reserved name (RFC 2606, RFC 6761) has in development; null for any other name. */
const reservedFact = (domain: string): MailFact | null => {
  const name = domain.toLowerCase()
  if (absent.test(name)) return 'domain_not_found'
  return taking.test(name) ? 'mx' : null
}

/** For development: reserved names accept mail, except those under `invalid`, and are not looked up. */
export const withReserved = (resolver: Resolver): Resolver => ({
  ...resolver,
  mail: async (domain, limitMs, owner) => reservedFact(domain) ?? resolver.mail(domain, limitMs, owner),
})
