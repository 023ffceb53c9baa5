import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** An answered request without confidential parts: no body, key or query. */
export interface Answered {
  method: string
  /** Without its query, tokens and addresses. */
  path: string
  status: number
  ms: number
  requestId: string
}

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

/** Calls `onAnswered` for each answered request. */
export const observeAnswers = (server: FastifyInstance, onAnswered: (answered: Answered) => void): void => {
  server.addHook('onResponse', async (request, reply) => {
    onAnswered({
      method: request.method,
      path: pathOf(request),
      status: reply.statusCode,
      ms: msOf(reply),
      requestId: request.id,
    })
  })
}
