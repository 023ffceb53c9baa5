import { isIP, type LookupFunction } from 'node:net'
import { Agent, buildConnector } from 'undici'
import { bareHost, type DialRules, dialAddresses } from './dial.ts'
import { Exchange, type PostOutcome } from './exchange.ts'

export type { PostOutcome } from './exchange.ts'

export interface PostRequest {
  headers: Record<string, string>
  body: string | Buffer
  timeoutMs: number
}

/** Posts to URLs that users gave. Reaches no address but those that its rules allow, whatever a name resolves to. */
export interface HttpClient {
  /** Never rejects: what went wrong is in the outcome. Follows no redirect. The caller bounds how many run at once. */
  post(url: string | URL, request: PostRequest): Promise<PostOutcome>
  /** Lets what is under way end, then closes every connection. */
  close(): Promise<void>
  /** Ends what is under way with `stopped` outcomes. */
  destroy(): Promise<void>
}

const idleMs = 10_000
const connectMs = 5000

const baseHeaders = {
  'content-type': 'application/json',
  'accept-encoding': 'identity',
  'user-agent': 'svc-webhooks/1',
}

/** Connects to addresses that were judged just now, so that a name can't change its meaning between check and use. */
const guardedConnector = (rules: DialRules): buildConnector.connector => {
  const lookup: LookupFunction = (hostname, options, callback) => {
    dialAddresses(hostname, rules, connectMs).then(
      (addresses) => {
        const { address, family } = addresses[0]!
        return options.all ? callback(null, addresses) : callback(null, address, family)
      },
      (error) => callback(error, []),
    )
  }
  const connect = buildConnector({ lookup, allowH2: false, timeout: connectMs })
  return (options, callback) => {
    // A literal is never looked up, so it is judged here.
    if (isIP(bareHost(options.hostname)) === 0) return connect(options, callback)
    dialAddresses(options.hostname, rules, connectMs).then(
      () => connect(options, callback),
      (error) => callback(error, null),
    )
  }
}

/** A client with its own connections, closed after 10 s without use. */
export const createHttpClient = (rules: DialRules): HttpClient => {
  const agent = new Agent({
    connect: guardedConnector(rules),
    allowH2: false,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: idleMs,
    // The deadline of an exchange stands for both.
    headersTimeout: 0,
    bodyTimeout: 0,
  })

  return {
    post: (url, { headers, body, timeoutMs }) =>
      new Promise((resolve) => {
        const exchange = new Exchange(timeoutMs, resolve)
        const target = typeof url === 'string' ? URL.parse(url) : url
        const path = target === null ? '' : target.pathname + target.search
        const origin = target?.origin ?? ''
        agent.dispatch({ origin, path, method: 'POST', headers: { ...baseHeaders, ...headers }, body }, exchange)
      }),
    close: () => agent.close(),
    destroy: () => agent.destroy(),
  }
}
