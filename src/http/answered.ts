import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** An answered request without confidential parts: no body, key or query. */
export interface Answered {
  method: string
  /** The path without its query, tokens and addresses. */
  path: string
  status: number
  ms: number
  requestId: string
}

/** The content of a call of the API, with its confidential parts: its observer masks them, and keeps it in memory only. */
export interface Content {
  /** The query with its `?`. It is empty if there is none. */
  query: string
  /** The parsed body as the client sent it. It is undefined if there is none or the call was refused before. */
  sent: unknown
  /** The JSON of the response. It is null if there is none. */
  received: string | null
}

export type OnAnswered = (answered: Answered, content: Content | null) => void

const maxPathLength = 200

/** In a path without a route, a segment longer than any id may be a token. */
const maxIdLength = 40

const isPrivate = (part: string): boolean => /@|%40/i.test(part) || part.length > maxIdLength

/** Shows ids, and other parameters (tokens, addresses) by their names only. */
const pathOf = ({ url, routeOptions }: FastifyRequest): string => {
  const parts = url.split(/[?#]/)[0]!.split('/')
  const pattern = routeOptions.url?.split('/')
  const shown = pattern
    ? parts.map((part, n) => (pattern[n] === undefined || pattern[n] === ':id' ? part : pattern[n]))
    : parts.map((part) => (isPrivate(part) ? '…' : part))
  return shown.join('/').slice(0, maxPathLength)
}

const msOf = (reply: FastifyReply): number => Math.round(reply.elapsedTime * 10) / 10

/** nginx's status for a client that closed the connection before the answer. It is only logged. */
const clientClosedRequest = 499

/**
 * Logs each request in one line when it ends, successfully or not. The line names the route instead of the URL, which can
 * contain tokens and personal data.
 */
export const logAtEnd = (request: FastifyRequest, reply: FastifyReply): void => {
  reply.raw.once('close', () => {
    const { log, method, routeOptions, caller } = request
    log.info(
      {
        method,
        route: routeOptions.url ?? null,
        status: reply.raw.writableFinished ? reply.statusCode : clientClosedRequest,
        ms: msOf(reply),
        ...(caller && { account: caller.accountId, key: caller.keyId }),
      },
      'request',
    )
  })
}

const isCall = ({ url }: FastifyRequest): boolean => url.startsWith('/api/')

/** Calls `onAnswered` for each answered request; `content` is null for pages, whose paths and forms hold tokens. */
export const observeAnswers = (server: FastifyInstance, onAnswered: OnAnswered): void => {
  const sent = new WeakMap<FastifyRequest, unknown>()
  const received = new WeakMap<FastifyRequest, string>()
  // The validation replaces the body by what the route makes of it.
  server.addHook('preValidation', async (request) => void sent.set(request, request.body))
  server.addHook('onSend', async (request, _reply, payload) => {
    if (isCall(request) && typeof payload === 'string') received.set(request, payload)
  })
  server.addHook('onResponse', async (request, reply) => {
    const { method, url, id: requestId } = request
    const answered = { method, path: pathOf(request), status: reply.statusCode, ms: msOf(reply), requestId }
    const query = url.includes('?') ? url.slice(url.indexOf('?')) : ''
    const content = { query, sent: sent.get(request), received: received.get(request) ?? null }
    onAnswered(answered, isCall(request) ? content : null)
  })
}
