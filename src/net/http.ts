/*
 * Guarded requests: dial.ts, exchange.ts and download.ts are their parts, addresses.ts and webhook-url.ts know which
 * addresses are public, lookups.ts, resolver.ts, hosts.ts and reserved.ts resolve names. smtp.ts and mime.ts send
 * email; imap.ts reads mailboxes; stripe.ts takes payments.
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Socket } from 'node:net'
import { Agent, buildConnector, errors } from 'undici'
import { connectToFirst } from './connect.ts'
import { type DialRules, dialAddresses } from './dial.ts'
import { Download, type Downloaded, type Hop } from './download.ts'
import { Exchange, type PostOutcome } from './exchange.ts'
import { createLookups } from './lookups.ts'

export type { PostOutcome } from './exchange.ts'

interface PostRequest {
  headers: Record<string, string>
  body: string | Buffer
  timeoutMs: number
  /** The account of the post. Its concurrent look-ups are limited, so that its silent names do not delay other accounts. */
  accountId?: string
}

interface GetRequest {
  accept: string
  /** The limit for all redirects together. */
  timeoutMs: number
  /** At most this much of an answer is read, as it is sent and decoded. */
  maxBytes: number
  accountId?: string
}

/** Requests to URLs of users. Connects only to addresses that its rules allow, whatever a name resolves to. */
export interface HttpClient {
  /** Never rejects: the outcome has the error. Follows no redirects. The caller limits the number of concurrent posts. */
  post(url: string | URL, request: PostRequest): Promise<PostOutcome>
  /** Never rejects: the outcome has the error, without the URL. Follows redirects, each connection by the same rules. */
  get(url: string, request: GetRequest): Promise<Downloaded>
  /** Lets running requests finish, then closes every connection. */
  close(): Promise<void>
  /** Ends running posts with `stopped` outcomes. */
  destroy(): Promise<void>
}

const idleMs = 10_000
/** Limit for look-up, TCP and TLS: a little more than the deadline of a delivery, so that the reported error is that deadline. */
const connectMs = 5250
/** A little less than the deadline of a delivery, so that a silent name server is distinguished from a silent endpoint. */
const lookupMs = 4500

const baseHeaders = {
  'content-type': 'application/json',
  'accept-encoding': 'identity',
  'user-agent': 'svc-webhooks/1',
}

const getHeaders = { 'accept-encoding': 'identity', 'user-agent': 'svc-calendars/1' }
const maxRedirects = 5

/** The account of the request that opens a connection: undici passes only the origin to a connector. */
const dialler = new AsyncLocalStorage<string | undefined>()

const secure = (connect: buildConnector.connector, options: buildConnector.Options, tcp: Socket, limitMs: number) =>
  new Promise<Socket>((resolve, reject) => {
    const fail = (error: Error) => {
      clearTimeout(deadline)
      tcp.destroy()
      reject(error)
    }
    const deadline = setTimeout(() => fail(new errors.ConnectTimeoutError()), limitMs)
    connect({ ...options, httpSocket: tcp }, (error, socket) => {
      if (error) return fail(error)
      clearTimeout(deadline)
      resolve(socket!)
    })
  })

/** Connects to addresses that were checked for this connection, so that a name can't resolve differently between check and use. */
const guardedConnector = ({ resolver, allow }: DialRules): buildConnector.connector => {
  const lookups = createLookups(resolver, lookupMs)
  const connectTls = buildConnector({ allowH2: false, timeout: 0 })

  const dial = async (options: buildConnector.Options): Promise<Socket> => {
    const endsAt = performance.now() + connectMs
    const accountId = dialler.getStore()
    const names = { addresses: (hostname: string) => lookups.addresses(hostname, accountId) }
    const addresses = await dialAddresses(options.hostname, { resolver: names, allow }, lookupMs)
    const isTls = options.protocol === 'https:'
    const port = Number(options.port || (isTls ? 443 : 80))
    const tcp = await connectToFirst(addresses, port, endsAt - performance.now())
    return isTls ? secure(connectTls, options, tcp, endsAt - performance.now()) : tcp
  }

  return (options, callback) => {
    dial(options).then(
      (socket) => callback(null, socket),
      (error) => callback(error, null),
    )
  }
}

/** Returns a client with its own connections, which are closed after 10 s without use. */
export const createHttpClient = (rules: DialRules): HttpClient => {
  const agent = new Agent({
    connect: guardedConnector(rules),
    allowH2: false,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: idleMs,
    // The deadline of an exchange covers both.
    headersTimeout: 0,
    bodyTimeout: 0,
  })

  const fetchOnce = (url: URL, { accept, maxBytes, accountId }: GetRequest, timeoutMs: number): Promise<Hop> =>
    new Promise((resolve) => {
      const request = {
        origin: url.origin,
        path: url.pathname + url.search,
        method: 'GET' as const,
        headers: { ...getHeaders, accept },
      }
      dialler.run(accountId, () => agent.dispatch(request, new Download(timeoutMs, maxBytes, resolve)))
    })

  return {
    async get(given, request) {
      const endsAt = performance.now() + request.timeoutMs
      let url = URL.parse(given)
      for (let redirects = 0; redirects <= maxRedirects; redirects++) {
        if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
          return { body: null, error: 'redirects to an address that is neither http nor https' }
        const hop = await fetchOnce(url, request, Math.max(1, endsAt - performance.now()))
        if (!('location' in hop)) return hop
        url = URL.parse(hop.location, url)
      }
      return { body: null, error: `redirects more than ${maxRedirects} times` }
    },
    post: (url, { headers, body, timeoutMs, accountId }) =>
      new Promise((resolve) => {
        const exchange = new Exchange(timeoutMs, resolve)
        const target = typeof url === 'string' ? URL.parse(url) : url
        const path = target === null ? '' : target.pathname + target.search
        const origin = target?.origin ?? ''
        const request = { origin, path, method: 'POST' as const, headers: { ...baseHeaders, ...headers }, body }
        dialler.run(accountId, () => agent.dispatch(request, exchange))
      }),
    close: () => agent.close(),
    destroy: () => agent.destroy(),
  }
}
