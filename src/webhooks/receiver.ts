import type { IncomingMessage, ServerResponse } from 'node:http'
import { type ReceivedWebhook, verifyWebhook } from '../lib/webhooks.ts'
import { type LoopbackServer, openLoopback, readBody } from '../net/loopback.ts'

/** A delivery as it reached a receiver of ours. */
export interface Arrival extends ReceivedWebhook {
  /** epoch ms */
  at: number
  /** Names and values in turn, as they came. */
  rawHeaders: readonly string[]
  body: Buffer
}

export interface Answer {
  status: number
  headers?: Record<string, string>
  body?: Buffer
}

export interface ReceiverOptions {
  /** 0 takes a free one. */
  port: number
  /** The secret part of the path: who does not know it can't post. */
  token: string
  /** Asked for each delivery: the first one may come before the subscription's maker has read its secret. */
  secret(): string | Promise<string>
  now(): Date
  /** What to answer; null to leave the sender without an answer. */
  answer(arrival: Arrival): Answer | null | Promise<Answer | null>
  /** Answers what is no delivery; 404 without it. */
  otherwise?(request: IncomingMessage, response: ServerResponse): void | Promise<void>
}

export interface Receiver extends LoopbackServer {
  hookUrl: string
}

/**
 * More than the largest event. A contact has 40 columns of 10,000 characters, of up to 6 bytes each in JSON, and an event of
 * its change holds it twice: 5 MB. What a body of the API (8 MB) brings in may grow threefold: an invalid byte becomes U+FFFD.
 */
const maxBodyBytes = 32 * 1024 * 1024

/**
 * A webhook receiver on a loopback port, as a subscriber would write one: it takes `POST /hook/<token>` up to 32 MB and
 * verifies the signature over the raw body (api.md section 5). Rejects with EADDRINUSE where the port is taken.
 */
export const openReceiver = async (options: ReceiverOptions): Promise<Receiver> => {
  const path = `/hook/${options.token}`

  const receive = async (request: IncomingMessage): Promise<Answer | null> => {
    const at = options.now().getTime()
    const body = await readBody(request, maxBodyBytes)
    if (body === null) return { status: 413, headers: { connection: 'close' } }
    const { headers, rawHeaders } = request
    const received = verifyWebhook(await options.secret(), headers, body, { nowMs: at })
    return options.answer({ at, ...received, rawHeaders, body })
  }

  const server = await openLoopback(options.port, async (request, response) => {
    if (request.method === 'POST' && request.url === path) {
      const answer = await receive(request)
      if (answer) response.writeHead(answer.status, answer.headers).end(answer.body)
      return
    }
    if (options.otherwise) await options.otherwise(request, response)
    else response.writeHead(404).end()
  })
  return { ...server, hookUrl: server.url + path }
}
