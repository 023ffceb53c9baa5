import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Arrival, openReceiver, type Receiver } from '../webhooks/receiver.ts'
import { pageCss, pageHtml, pageScript } from './dev.page.ts'

/** A delivery as the page and `GET /deliveries` show it. */
interface Shown {
  seq: number
  /** epoch ms */
  at: number
  type: string
  id: string
  status: number
  verified: boolean
  verdict: Arrival['verdict']
  /** The raw body as text, cut at 64 Ki characters. */
  body: string
  truncated: boolean
}

const kept = 200
const maxShownBody = 64 * 1024
/** A burst of deliveries reaches the pages as a few batches instead of thousands of messages. */
const batchMs = 200
const heartbeatMs = 15_000

const csp = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const headersFor = (type: string) => ({
  'content-type': type,
  'content-security-policy': csp,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
})

const files: Record<string, [type: string, text: string]> = {
  '/': ['text/html; charset=utf-8', pageHtml],
  '/page.css': ['text/css; charset=utf-8', pageCss],
  '/page.js': ['text/javascript; charset=utf-8', pageScript],
}

/** The last deliveries, and how many there were in all. */
const createHistory = () => {
  const deliveries: Shown[] = []
  const counts = { total: 0, notVerified: 0 }
  return {
    add({ at, type, id, verdict, body }: Arrival, status: number) {
      counts.total++
      if (verdict !== 'ok') counts.notVerified++
      const text = body.toString('utf8', 0, maxShownBody)
      const truncated = body.length > maxShownBody
      deliveries.push({
        seq: counts.total,
        at,
        type,
        id,
        status,
        verified: verdict === 'ok',
        verdict,
        body: text,
        truncated,
      })
      if (deliveries.length > kept) deliveries.shift()
    },
    /** Oldest first. */
    since: (seq: number) => ({ ...counts, deliveries: deliveries.filter((delivery) => delivery.seq > seq) }),
  }
}
type History = ReturnType<typeof createHistory>

/** Server-Sent Events to every open page. A page that reads slowly skips what is no longer kept when it goes on. */
const createStream = (history: History) => {
  const pages = new Map<ServerResponse, number>()
  const send = (response: ServerResponse, sent: number) => {
    const news = history.since(sent)
    if (response.writableNeedDrain || (news.total === sent && sent > 0)) return
    response.write(`event: deliveries\ndata: ${JSON.stringify(news)}\n\n`)
    pages.set(response, news.total)
  }
  const batches = setInterval(() => {
    for (const [response, sent] of pages) if (history.since(sent).total > sent) send(response, sent)
  }, batchMs)
  const heartbeats = setInterval(() => {
    for (const response of pages.keys()) if (!response.writableNeedDrain) response.write(':\n\n')
  }, heartbeatMs)
  return {
    open(response: ServerResponse) {
      response.writeHead(200, headersFor('text/event-stream'))
      response.write('event: reset\ndata:\n\n')
      response.on('close', () => pages.delete(response))
      send(response, 0)
    },
    close() {
      clearInterval(batches)
      clearInterval(heartbeats)
      for (const response of pages.keys()) response.end()
    },
  }
}

export interface ReceiverPageOptions {
  port: number
  token: string
  secret(): string | Promise<string>
  now(): Date
}

/**
 * The receiver of `svc dev`: takes deliveries, answers 204 (401 where the signature is wrong), and shows the last 200 on a
 * page at `/`, live, and as JSON at `/deliveries`. Memory alone. Rejects with EADDRINUSE where the port is taken.
 */
export const openReceiverPage = async (options: ReceiverPageOptions): Promise<Receiver> => {
  const history = createHistory()
  const stream = createStream(history)

  const otherwise = (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? ''
    const reading = request.method === 'GET' || request.method === 'HEAD'
    const file = Object.hasOwn(files, path) ? files[path] : undefined
    if (!reading) response.writeHead(path.startsWith('/hook/') ? 404 : 405).end()
    else if (file) response.writeHead(200, headersFor(file[0])).end(file[1])
    else if (path === '/stream') stream.open(response)
    else if (path === '/deliveries') {
      const { deliveries, ...counts } = history.since(0)
      const body = JSON.stringify({ ...counts, deliveries: deliveries.reverse() })
      response.writeHead(200, headersFor('application/json; charset=utf-8')).end(body)
    } else response.writeHead(404).end()
  }

  const answer = (arrival: Arrival) => {
    const status = arrival.verdict === 'ok' ? 204 : 401
    history.add(arrival, status)
    return { status }
  }

  try {
    const receiver = await openReceiver({ ...options, answer, otherwise })
    return {
      ...receiver,
      close: () => {
        stream.close()
        return receiver.close()
      },
    }
  } catch (error) {
    stream.close()
    throw error
  }
}
