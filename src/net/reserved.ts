import type { MxResult, Resolver } from './resolver.ts'

const acceptsMail = /(^|\.)(example\.(com|net|org)|example|test|localhost)$/
const doesNotExist = /(^|\.)invalid$/

/** Returns the simulated MX result of a reserved name (RFC 2606, RFC 6761), or null for any other name. */
const reservedMxResult = (domain: string): MxResult | null => {
  const name = domain.toLowerCase()
  if (doesNotExist.test(name)) return 'domain_not_found'
  return acceptsMail.test(name) ? 'mx' : null
}

/** Returns a resolver for development: reserved names accept mail, except those under `invalid`, and are not looked up. */
export const withReserved = (resolver: Resolver): Resolver => ({
  ...resolver,
  mail: async (domain, limitMs, owner) => reservedMxResult(domain) ?? resolver.mail(domain, limitMs, owner),
})
