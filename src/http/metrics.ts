import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'

/** A request that was answered, as it is counted: by its route's pattern, which holds no id, address or token. */
export interface Counted {
  /** `none`: of a path that is no route's. */
  route: string
  method: string
  status: number
  ms: number
}

export interface Metrics {
  answered(request: Counted): void
  /** All metrics in Prometheus' text format, and its media type. */
  read(): Promise<{ type: string; text: string }>
}

const forwarding = /^(forwarded|x-forwarded-.+|x-real-ip|x-client-ip|true-client-ip|cf-connecting-ip|via)$/
const loopback = /^(::ffff:)?127\.|^::1$/
const bearer = /^Bearer +(.+?) *$/i

const digest = (text: string) => createHash('sha256').update(text).digest()

/** Who asks on this machine, and not through a proxy on it, or brings the token. */
const mayRead = ({ socket, headers }: FastifyRequest, token: string | null): boolean => {
  const given = token === null ? undefined : bearer.exec(headers.authorization ?? '')?.[1]
  if (token !== null && given !== undefined && timingSafeEqual(digest(given), digest(token))) return true
  return loopback.test(socket.remoteAddress ?? '') && !Object.keys(headers).some((name) => forwarding.test(name))
}

/** Counts every request, and shows `/metrics` to whom it may (decisions.md, Metrics); for all others it is not there. */
export const addMetrics = (server: FastifyInstance, metrics: Metrics, token: string | null): void => {
  server.addHook('onResponse', async ({ method, routeOptions: { url: route = 'none' } }, reply) => {
    metrics.answered({ route, method, status: reply.statusCode, ms: reply.elapsedTime })
  })
  server.get('/metrics', async (request, reply) => {
    if (!mayRead(request, token)) return reply.callNotFound()
    const { type, text } = await metrics.read()
    return reply.type(type).header('cache-control', 'no-store').send(text)
  })
}
