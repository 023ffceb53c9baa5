import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** A request that was answered, without anything that its caller or a recipient would want kept: no body, no key, no query. */
export interface Answered {
  method: string
  /** Without its query; a token or an address in it is left out. */
  path: string
  status: number
  ms: number
  requestId: string
}

const longestPath = 200

/** Of a path that is no route's: longer than any id, it may be a token. */
const longestId = 40

const isPrivate = (part: string): boolean => /@|%40/i.test(part) || part.length > longestId

/** Ids may be seen; every other parameter (a token, an address) goes by its name. */
const pathOf = ({ url, routeOptions }: FastifyRequest): string => {
  const parts = url.split(/[?#]/)[0]!.split('/')
  const pattern = routeOptions.url?.split('/')
  const shown = pattern
    ? parts.map((part, n) => (pattern[n] === undefined || pattern[n] === ':id' ? part : pattern[n]))
    : parts.map((part) => (isPrivate(part) ? '…' : part))
  return shown.join('/').slice(0, longestPath)
}

const msOf = (reply: FastifyReply): number => Math.round(reply.elapsedTime * 10) / 10

/** As others log who went away before the answer: no status of HTTP, and sent to nobody. */
const clientGone = 499

/**
 * Logs a request when it has ended, however it does: one line, by its route, as addresses and queries hold tokens and
 * what people are called.
 */
export const logAtEnd = (request: FastifyRequest, reply: FastifyReply): void => {
  reply.raw.once('close', () => {
    const { log, method, routeOptions, caller } = request
    log.info(
      {
        method,
        route: routeOptions.url ?? null,
        status: reply.raw.writableFinished ? reply.statusCode : clientGone,
        ms: msOf(reply),
        ...(caller && { account: caller.accountId, key: caller.keyId }),
      },
      'request',
    )
  })
}

/** Tells of each request when it has been answered. */
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
