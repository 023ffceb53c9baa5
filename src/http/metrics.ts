import { hash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isThisMachine } from '../net/dial.ts'

/** What the metrics count of an answered request. The route is a pattern, so it contains no ids, addresses or tokens. */
interface RequestSample {
  /** It is `none` for a path without a route. */
  route: string
  method: string
  status: number
  ms: number
}

export interface Metrics {
  answered(request: RequestSample): void
  /** Returns all metrics in Prometheus' text format, and its media type. */
  read(): Promise<{ type: string; text: string }>
}

/** Headers that proxies add. */
const forwarding = /^(forwarded|x-forwarded-.+|x-real-ip|x-client-ip|true-client-ip|cf-connecting-ip|via)$/
const loopback = /^(::ffff:)?127\.|^::1$/

/** Digests have the same length, which `timingSafeEqual` requires. */
const digest = (text: string) => hash('sha256', text, 'buffer')

const hasToken = (authorization: string, token: string): boolean =>
  /^bearer /i.test(authorization) &&
  timingSafeEqual(digest(authorization.slice('bearer '.length).trim()), digest(token))

/**
 * With a configured token, callers must send it. Without one, only direct requests from this machine to a local host name may read. A proxy
 * on this machine can look like that, so a daemon that has a public URL needs the token.
 */
const mayRead = ({ socket, headers }: FastifyRequest, token: string | null, publicUrl: string): boolean => {
  if (token !== null) return hasToken(headers.authorization ?? '', token)
  return (
    isThisMachine(URL.parse(publicUrl)?.hostname ?? '') &&
    loopback.test(socket.remoteAddress ?? '') &&
    isThisMachine(URL.parse(`http://${headers.host}`)?.hostname ?? '') &&
    !Object.keys(headers).some((name) => forwarding.test(name))
  )
}

/** Counts every request and serves `/metrics` (docs/reference/api.md#metrics). Callers without permission get 404. */
export const addMetrics = (
  server: FastifyInstance,
  metrics: Metrics,
  token: string | null,
  publicUrl: string,
): void => {
  server.addHook('onResponse', async ({ method, routeOptions: { url: route = 'none' } }, reply) => {
    metrics.answered({ route, method, status: reply.statusCode, ms: reply.elapsedTime })
  })
  server.get('/metrics', async (request, reply) => {
    if (!mayRead(request, token, publicUrl)) return reply.callNotFound()
    const { type, text } = await metrics.read()
    return reply.type(type).header('cache-control', 'no-store').send(text)
  })
}
