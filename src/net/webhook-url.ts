import { isIP } from 'node:net'
import { invalid } from '../lib/problem.ts'
import { bareHost, isListed } from './addresses.ts'
import { AddressRefused, type DialRules, dialAddresses, isLoopbackName } from './dial.ts'

/** In characters. */
export const webhookUrlMaxLength = 2048
const dnsLimitMs = 2000

/** WHATWG's parser repairs other beginnings, such as `https:example.com`, which are relative or no URIs for other programs. */
const isAbsolute = /^\s*https?:\/\/[^\s/\\]/i

const parse = (text: string): URL => {
  if (text.length > webhookUrlMaxLength) throw invalid(`url must have at most ${webhookUrlMaxLength} characters`)
  const url = isAbsolute.test(text) ? URL.parse(text) : null
  if (!url) throw invalid('url must be an absolute http or https address')
  if (url.username !== '' || url.password !== '') throw invalid('url must not contain a user name or password')
  if (url.href.includes('#')) throw invalid('url must not contain a fragment')
  if (url.href.length > webhookUrlMaxLength) throw invalid(`url must have at most ${webhookUrlMaxLength} characters`)
  return url
}

/** Whether a name is private by its domain; Docker and Kubernetes use `internal` and `local`. */
const isPrivateName = (host: string): boolean => isLoopbackName(host) || /(^|\.)(local|internal)$/.test(host)

/** Returns why a host is refused, or null. A name that does not resolve is accepted, unless it is a private name. */
const refusal = async (hostname: string, rules: DialRules): Promise<string | null> => {
  const host = bareHost(hostname)
  const isPrivate = isPrivateName(host)
  try {
    const addresses = await dialAddresses(hostname, rules, dnsLimitMs)
    // A private name may lead only to addresses that the operator allowed, whatever a public name server returns for it.
    const isOpen = !isPrivate || addresses.every(({ address }) => isListed(address, rules.allow))
    return isOpen ? null : `${host} is a private name`
  } catch (error) {
    if (isPrivate) return `${host} is a private name`
    if (!(error instanceof AddressRefused)) return null
    return isIP(host) === 0 ? `${host} resolves to an address that is not` : `${host} is not`
  }
}

/**
 * Returns the normalised URL of a webhook (docs/reference/events.md#public-urls). Throws Problem `invalid` if it is malformed or
 * private by its name, or if its address, looked up within 2 s, is not public. A name that does not resolve yet is accepted: the
 * address is checked again at each connection.
 */
export const checkWebhookUrl = async (text: string, rules: DialRules): Promise<URL> => {
  const url = parse(text)
  const why = await refusal(url.hostname, rules)
  if (why !== null) throw invalid(`url must be a public http or https address: ${why}`)
  return url
}
