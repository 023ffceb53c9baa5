import { isIP } from 'node:net'
import { invalid } from '../lib/problem.ts'
import { isListed } from './addresses.ts'
import { AddressRefused, bareHost, type DialRules, dialAddresses, isLoopbackName } from './dial.ts'

const maxLength = 2048
const dnsLimitMs = 2000

const parse = (text: string): URL => {
  if (text.length > maxLength) throw invalid(`url must have at most ${maxLength} characters`)
  const url = URL.parse(text)
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw invalid('url must be an absolute http or https address')
  }
  if (url.username !== '' || url.password !== '') throw invalid('url must not contain a user name or password')
  if (url.href.includes('#')) throw invalid('url must not contain a fragment')
  if (url.href.length > maxLength) throw invalid(`url must have at most ${maxLength} characters`)
  return url
}

/** Names that are private by their nature; Docker and Kubernetes use the last two. */
const isPrivateName = (host: string): boolean => isLoopbackName(host) || /(^|\.)(local|internal)$/.test(host)

/** Why a host is refused now, or null. A name that does not resolve is no reason, unless it is a private name. */
const refusal = async (hostname: string, rules: DialRules): Promise<string | null> => {
  const host = bareHost(hostname)
  const isPrivate = isPrivateName(host)
  try {
    const addresses = await dialAddresses(hostname, rules, dnsLimitMs)
    // A private name stands for addresses that the operator opened alone, whatever a public name server says of it.
    const isOpen = !isPrivate || addresses.every(({ address }) => isListed(address, rules.allow))
    return isOpen ? null : `${host} is a private name`
  } catch (error) {
    if (isPrivate) return `${host} is a private name`
    if (!(error instanceof AddressRefused)) return null
    return isIP(host) === 0 ? `${host} resolves to an address that is not` : `${host} is not`
  }
}

/**
 * The URL of a webhook, normalised (decisions.md, Webhooks: public URL). Refuses as `invalid` what is malformed, private by
 * name, a literal that is not public, or a name that resolves to such an address within 2 s. A name that does not resolve
 * yet is accepted: the address dialled is judged again at each connection.
 */
export const checkWebhookUrl = async (text: string, rules: DialRules): Promise<URL> => {
  const url = parse(text)
  const why = await refusal(url.hostname, rules)
  if (why !== null) throw invalid(`url must be a public http or https address: ${why}`)
  return url
}
