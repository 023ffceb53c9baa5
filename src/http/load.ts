import type { FastifyInstance } from 'fastify'
import { Problem } from '../lib/problem.ts'
import { clientOf, isListed, parseCidrs } from '../net/addresses.ts'
import { mergeChunks } from './bodies.chunks.ts'

/** Maximum connections, in total and per client address, and maximum unanswered requests. */
const limits = { connections: 4096, perAddress: 512, requests: 1000 } as const

/** The per-address limit does not apply to proxies, whose clients share one address: those on this machine, and the configured ones. */
const local = '127.0.0.1/32, ::1/128'

const busy = () => new Problem('unavailable', 'The service is too busy: try again', { retryAfterSeconds: 1 })

/** Closes connections above the limits before reading from them. */
const limitConnections = ({ server }: FastifyInstance, trustProxy: readonly string[]): void => {
  server.maxConnections = limits.connections
  const shared = parseCidrs([local, ...trustProxy].join(','))
  const counts = new Map<string, number>()
  server.prependListener('connection', (socket) => {
    const { remoteAddress = '' } = socket
    const client = clientOf(remoteAddress)
    if (isListed(remoteAddress, shared)) return
    const count = (counts.get(client) ?? 0) + 1
    if (count > limits.perAddress) return socket.destroy()
    counts.set(client, count)
    socket.once('close', () => {
      const left = counts.get(client)! - 1
      if (left > 0) counts.set(client, left)
      else counts.delete(client)
    })
  })
}

const probes = new Set(['/healthz', '/readyz', '/metrics'])

/** Refuses requests above the limit: they would only wait for a database connection, with their body in memory. */
const limitRequests = (server: FastifyInstance): void => {
  let inFlight = 0
  server.addHook('onRequest', async (request, reply) => {
    if (probes.has(request.url)) return
    inFlight++
    reply.raw.once('close', () => {
      inFlight--
      request.releaseBody?.()
    })
    if (inFlight > limits.requests) throw busy()
  })
}

/** Limits connections, requests and small chunks over all clients. */
export const limitLoad = (server: FastifyInstance, trustProxy: readonly string[]): void => {
  limitConnections(server, trustProxy)
  server.server.prependListener('request', mergeChunks)
  limitRequests(server)
}
