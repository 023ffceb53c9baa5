import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type AddressInfo, isIP, type LookupFunction } from 'node:net'
import { bareHost } from './addresses.ts'
import { isThisMachine, loopback } from './dial.ts'

export interface LoopbackServer {
  port: number
  /** `http://127.0.0.1:<port>` */
  url: string
  /** Gives running answers a moment to end; then closes every connection. */
  close(): Promise<void>
}

/** Longer than svc's client keeps an idle connection: the client closes first, so no request meets a closing connection. */
const keepAliveMs = 60_000
const closeMs = 200

/**
 * Opens an HTTP server on 127.0.0.1 only; port 0 takes a free one. It refuses requests for another host, so that a foreign page
 * whose name resolves to this machine (DNS rebinding) gets nothing. Rejects with EADDRINUSE if the port is in use.
 */
export const openLoopback = async (
  port: number,
  handle: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>,
): Promise<LoopbackServer> => {
  let hosts: string[] = []
  const server = createServer(async (request, response) => {
    response.on('error', () => {})
    if (!hosts.includes(request.headers.host ?? '')) {
      response.writeHead(421, { 'content-type': 'text/plain' }).end('This server answers to its own address only\n')
      return
    }
    try {
      await handle(request, response)
    } catch {
      // The client disconnected, or the answer failed: the client must not take a partial answer for a complete one.
      if (response.headersSent) response.destroy()
      else response.writeHead(500).end()
    }
  })
  server.keepAliveTimeout = keepAliveMs
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve)
  })
  const bound = (server.address() as AddressInfo).port
  hosts = [`127.0.0.1:${bound}`, `localhost:${bound}`]
  return {
    port: bound,
    url: `http://127.0.0.1:${bound}`,
    close: () =>
      new Promise((resolve) => {
        const force = setTimeout(() => server.closeAllConnections(), closeMs)
        server.close(() => {
          clearTimeout(force)
          resolve()
        })
        server.closeIdleConnections()
      }),
  }
}

/** Returns the whole body of a request, or null as soon as it is longer than `limitBytes`. Rejects if the client disconnects. */
export const readBody = async (request: IncomingMessage, limitBytes: number): Promise<Buffer | null> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > limitBytes) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, bytes)
}

/** Resolves a name of this machine without a resolver. */
const lookHere: LookupFunction = (_name, _options, done) => done(null, loopback)

/**
 * Returns the status of a HEAD request, whose redirects are not followed; null if there is no answer in time. A URL of another host, by
 * its name or address, is not requested. No name is looked up.
 */
export const statusHere = (url: URL, timeoutMs: number): Promise<number | null> =>
  new Promise((resolve) => {
    if (url.protocol !== 'http:' || !isThisMachine(url.hostname)) return resolve(null)
    const options = { method: 'HEAD', agent: false, signal: AbortSignal.timeout(timeoutMs) } as const
    const isName = isIP(bareHost(url.hostname)) === 0
    request(url, { ...options, ...(isName && { lookup: lookHere }) })
      .on('response', (answer) => resolve(answer.resume().statusCode ?? null))
      .on('error', () => resolve(null))
      .end()
  })
