import type { IncomingHttpHeaders } from 'node:http'
import { isbot } from 'isbot'

/** The parts of a request that identify its client. */
export interface Visit {
  method: string
  headers: Readonly<IncomingHttpHeaders>
}

/** Proxies of mail providers, which load images when a person opens the email. */
const imageProxy = /\b(GoogleImageProxy|YahooMailProxy)\b/

/**
 * Returns whether a request comes from a machine: HEAD, a prefetch, no user agent, or one on the list of bots. An image proxy counts
 * as a person for opens.
 */
export const isMachine = ({ method, headers }: Visit, kind: 'open' | 'click'): boolean => {
  const purpose = `${headers['sec-purpose'] ?? ''} ${headers.purpose ?? ''}`
  if (method === 'HEAD' || /\bprefetch\b/i.test(purpose)) return true
  const agent = headers['user-agent']
  if (!agent) return true
  return isbot(agent) && !(kind === 'open' && imageProxy.test(agent))
}
