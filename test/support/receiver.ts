import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { opened } from './fixture.ts'
import { inTest } from './scope.ts'
import { waitLimitMs } from './slowness.ts'

/** A request that the receiver got. Node provides `headers` with lower-case names. */
export interface Received {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: Buffer
  arrivedAtMs: number
}

/** How a receiver answers a request; by default 200 with an empty body. */
export interface Answer {
  status?: number
  headers?: Record<string, string>
  body?: string | Buffer
  /** The delay before the headers. */
  delayMs?: number
  /** There is no answer before. */
  until?: Promise<unknown>
  /**
   * hang: never sends headers. stall: headers, then nothing. drip: a byte every 50 ms. endless: a body as fast as it is read.
   * bomb: gzip of 64 MiB. reset: the socket is reset before headers. cut: the connection is closed within the body.
   */
  mode?: 'hang' | 'stall' | 'drip' | 'endless' | 'bomb' | 'reset' | 'cut'
}

export interface Receiver {
  /** `http://127.0.0.1:<port>` */
  url: string
  port: number
  requests: Received[]
  /** The number of connections opened so far. */
  readonly connections: number
  /** The number of connections that are open now. */
  readonly open: number
  /** Sets the answers to the next requests, in order; later requests get the default answer. */
  next(...answers: Answer[]): void
  /** Sets the default answer. */
  always(answer: Answer): void
  /** Resolves with the first `count` requests once they have arrived; rejects after `timeoutMs`. */
  arrived(count: number, timeoutMs?: number): Promise<Received[]>
  /** Ends every connection, including hanging ones. */
  close(): Promise<void>
}

const readBody = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms).unref())

const drip = async (response: ServerResponse) => {
  while (!response.destroyed) {
    response.write('.')
    await sleep(50)
  }
}

const pour = (response: ServerResponse) => {
  const chunk = Buffer.alloc(64 * 1024, 'x')
  const more = () => {
    while (!response.destroyed && response.write(chunk)) {}
  }
  response.on('drain', more)
  more()
}

let bomb: Buffer

// Compressing takes seconds on a busy machine, so it is not part of an answer, for which a client waits.
const prepare = (answers: readonly Answer[]): void => {
  if (answers.some(({ mode }) => mode === 'bomb')) bomb ??= gzipSync(Buffer.alloc(64 * 1024 * 1024))
}

const reply = async (answer: Answer, request: IncomingMessage, response: ServerResponse) => {
  const { status = 200, headers = {}, body = '', delayMs = 0, until, mode } = answer
  if (mode === 'hang') return
  if (mode === 'reset') return request.socket.resetAndDestroy()
  if (delayMs > 0) await sleep(delayMs)
  await until
  if (response.destroyed) return
  if (mode === 'bomb') return response.writeHead(status, { ...headers, 'content-encoding': 'gzip' }).end(bomb)
  response.writeHead(status, headers)
  if (mode === undefined) return response.end(body)
  response.flushHeaders()
  if (mode === 'drip') return drip(response)
  if (mode === 'endless') return pour(response)
  if (mode === 'cut') response.write(body || 'half', () => request.socket.destroy())
}

/** A real HTTP server on a loopback port that records requests and answers as configured. */
export const openReceiver = async (): Promise<Receiver> => {
  const requests: Received[] = []
  const queued: Answer[] = []
  const waiting = new Set<() => void>()
  let standing: Answer = {}
  let connections = 0
  let open = 0

  const server = createServer(async (request, response) => {
    const arrivedAtMs = Date.now()
    response.on('error', () => {})
    try {
      const body = await readBody(request)
      const { method = '', url: path = '', headers } = request
      requests.push({ method, path, headers, body, arrivedAtMs })
      for (const check of waiting) check()
      await reply(queued.shift() ?? standing, request, response)
    } catch {
      response.destroy() // the client closed the connection
    }
  })
  server.on('connection', (socket) => {
    connections++
    open++
    socket.on('close', () => open--)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    get connections() {
      return connections
    },
    get open() {
      return open
    },
    next: (...answers) => {
      prepare(answers)
      queued.push(...answers)
    },
    always: (answer) => {
      prepare([answer])
      standing = answer
    },
    arrived: async (count, timeoutMs = waitLimitMs) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const check = () => {
        if (requests.length >= count) resolve()
      }
      const late = () => reject(new Error(`${requests.length} of ${count} requests came in ${timeoutMs} ms`))
      const timer = setTimeout(late, timeoutMs)
      waiting.add(check)
      check()
      try {
        await inTest(promise)
      } finally {
        clearTimeout(timer)
        waiting.delete(check)
      }
      return requests.slice(0, count)
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** `openReceiver` for the tests of this file or `describe`. */
export const useReceiver = (): Receiver => opened(() => openReceiver())
