import type { IncomingMessage, ServerResponse } from 'node:http'
import { type ReceivedWebhook, verifyWebhook } from '../lib/webhooks.ts'
import { type LoopbackServer, openLoopback, readBody } from '../net/loopback.ts'

/** A delivery as a receiver got it. */
export interface Arrival extends ReceivedWebhook {
  /** epoch ms */
  at: number
  /** Alternating names and values, as received. */
  rawHeaders: readonly string[]
  body: Buffer
}

export interface Answer {
  status: number
  headers?: Record<string, string>
  body?: Buffer
}

interface ReceiverOptions {
  /** The port; 0 takes any free one. */
  port: number
  /** The secret part of the path, without which a sender can't post. */
  token: string
  /** Called for each delivery: the first one can arrive before the creation of the subscription returns the secret. */
  secret(): string | Promise<string>
  now(): Date
  /** Returns the answer, or null if there is none, so that the sender times out. */
  answer(arrival: Arrival): Answer | null | Promise<Answer | null>
  /** Handles all other requests; without it they get 404. */
  otherwise?(request: IncomingMessage, response: ServerResponse): void | Promise<void>
}

export interface Receiver extends LoopbackServer {
  hookUrl: string
}

/**
 * Larger than the largest event. A contact has 40 columns of 10,000 characters of up to 6 bytes each in JSON, and `contact.updated`
 * has it twice: 5 MB. The content of an API body (8 MB) can grow threefold, because U+FFFD replaces each invalid byte.
 */
const maxBodyBytes = 32 * 1024 * 1024

/**
 * Opens a webhook receiver on a loopback port, as a subscriber would write one: it accepts `POST /hook/<token>` of up to 32 MB and
 * verifies the signature over the raw body (docs/reference/events.md#signature). Rejects with EADDRINUSE if the port is taken.
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
