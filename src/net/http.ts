import { AsyncLocalStorage } from 'node:async_hooks'
import type { Socket } from 'node:net'
import { Agent, buildConnector, errors } from 'undici'
import { connectToFirst } from './connect.ts'
import { type DialRules, dialAddresses } from './dial.ts'
import { Exchange, type PostOutcome } from './exchange.ts'
import { createLookups } from './lookups.ts'

export type { PostOutcome } from './exchange.ts'

export interface PostRequest {
  headers: Record<string, string>
  body: string | Buffer
  timeoutMs: number
  /** On whose behalf: an account has a few name look-ups at once, so that its silent names delay nobody else's. */
  accountId?: string
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
/** The name, TCP and TLS together: a little more than a delivery has, whose own deadline so is the one that is told. */
const connectMs = 5250
/** A little less than a delivery has: a name server that is silent is told apart from an endpoint that is. */
const lookupMs = 4500

const baseHeaders = {
  'content-type': 'application/json',
  'accept-encoding': 'identity',
  'user-agent': 'svc-webhooks/1',
}

/** For whose post a connection is made: a connector is told its origin alone. */
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

/** Connects to addresses that were judged just now, so that a name can't change its meaning between check and use. */
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
