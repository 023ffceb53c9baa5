import type { WebhookEvent } from '../events/shapes.ts'
import { Problem } from '../lib/problem.ts'
import { signedHeaders } from '../lib/signature.ts'
import { anyAddress } from '../net/addresses.ts'
import { createHttpClient, type PostOutcome } from '../net/http.ts'
import { createResolver } from '../net/resolver.ts'

const timeoutMs = 5000

/** Parses `--to`. Throws Problem `usage` for anything but an http or https address. */
export const parseTarget = (to: string): URL => {
  const url = URL.parse(to)
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url
  throw new Problem('usage', '--to must be an http or https address')
}

/**
 * Signs an event for the time `nowMs` and posts it once, as a delivery. It resolves host names at `dnsServers`, and allows private
 * addresses because the operator typed the URL. Never rejects: the result has the error, or is `stopped` if `signal` was aborted.
 */
export const sendEvent = async (
  event: WebhookEvent,
  to: URL,
  secret: string,
  nowMs: number,
  dnsServers: readonly string[],
  signal: AbortSignal,
): Promise<PostOutcome> => {
  const resolver = createResolver(dnsServers)
  const http = createHttpClient({ resolver, allow: anyAddress })
  const body = JSON.stringify(event)
  signal.addEventListener('abort', http.destroy)
  try {
    return await http.post(to, { headers: signedHeaders(secret, nowMs, event.id, body), body, timeoutMs })
  } finally {
    await http.destroy()
    resolver.close()
  }
}
