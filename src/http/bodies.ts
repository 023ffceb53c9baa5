/*
 * Reads bodies. Any number of connections, with chunks of any size, takes a bounded amount of memory and CPU time:
 * bodies.chunks.ts merges tiny chunks, bodies.memory.ts limits the memory, bodies.json.ts checks JSON before it is
 * parsed, bodies.parse.ts and bodies.attached.ts parse it.
 */

import { errorCodes, type FastifyRequest } from 'fastify'
import { invalid } from '../lib/problem.ts'
import { clientOf } from '../net/addresses.ts'
import { hasTinyChunks } from './bodies.chunks.ts'
import { JsonScanner, maxValues, type Span } from './bodies.json.ts'
import { bodyLimitOf, bodyLimits, isJson, tooLarge } from './bodies.limits.ts'
import { BodyBuffers, createBudgets } from './bodies.memory.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Releases the memory of the body when the request has ended. It is null if no body was read. */
    releaseBody: (() => void) | null
    /** Whether the body took too long to arrive. */
    isLate: boolean
  }
}

/** Time limit for a body on a route without a key. With a key, the server's request timeout applies. */
const openBodyMs = 15_000

/** Node's code for a request timeout. */
export const timeoutCode = 'ERR_HTTP_REQUEST_TIMEOUT'
const timedOut = () => Object.assign(new Error('The body took too long to arrive'), { code: timeoutCode })

/** A body as it was received. */
export class Body {
  readonly length: number
  /** The long strings of a JSON text, in their order. */
  readonly longStrings: readonly Span[]
  readonly #buffers: readonly Buffer[]

  constructor(buffers: readonly Buffer[], length: number, longStrings: readonly Span[]) {
    this.#buffers = buffers
    this.length = length
    this.longStrings = longStrings
  }

  whole(): Buffer {
    return Buffer.concat(this.#buffers, this.length)
  }

  /** Yields the bytes from an offset up to another one, in pieces. */
  *pieces(from: number, to: number): Generator<Buffer> {
    let offset = 0
    for (const buffer of this.#buffers) {
      const [begin, end] = [Math.max(0, from - offset), Math.min(buffer.length, to - offset)]
      if (begin < end) yield buffer.subarray(begin, end)
      offset += buffer.length
    }
  }
}

/** Reads the whole body of a request, up to the limit of its route. */
export type ReadBody = (request: FastifyRequest, payload: NodeJS.ReadableStream) => Promise<Body>

/**
 * Whether the answer of a request closes its connection, because the rest of the body must not be read. After other refusals it is
 * read and dropped: closing a connection with unread bytes resets it, and the client may lose the answer.
 */
export const endsConnection = (request: FastifyRequest): boolean => request.isLate || hasTinyChunks(request.raw)

/** Creates the reader of a server, whose requests share the memory for bodies. */
export const createBodyReader = (): ReadBody => {
  const budgets = createBudgets()
  return (request, payload) => {
    const limit = bodyLimitOf(request)
    const contentLength = Number(request.headers['content-length'] ?? Number.NaN)
    if (contentLength > limit) return Promise.reject(tooLarge())
    const { promise, resolve, reject } = Promise.withResolvers<Body>()
    const received = request.caller
      ? new BodyBuffers(budgets.keyed, request.caller.accountId)
      : new BodyBuffers(budgets.open, clientOf(request.ip))
    request.releaseBody = () => received.release()
    const scanner = isJson(request)
      ? new JsonScanner(limit >= bodyLimits.large ? maxValues.large : maxValues.other)
      : null
    const fail = (error: Error) => {
      payload.pause()
      reject(error)
    }
    const onData = (chunk: Buffer) => {
      try {
        if (received.length + chunk.length > limit) throw tooLarge()
        scanner?.scan(chunk)
        received.append(chunk)
      } catch (error) {
        fail(error as Error)
      }
    }
    const onEnd = () => {
      const { buffers, length } = received
      if (hasTinyChunks(request.raw)) fail(invalid('body must not be sent in chunks of a few bytes'))
      else if (!Number.isNaN(contentLength) && contentLength !== length)
        fail(new errorCodes.FST_ERR_CTP_INVALID_CONTENT_LENGTH())
      else resolve(new Body(buffers, length, scanner?.longStrings ?? []))
    }
    const onLate = () => {
      request.isLate = true
      fail(timedOut())
    }
    const timer = request.caller ? undefined : setTimeout(onLate, openBodyMs)
    payload.on('data', onData).on('end', onEnd).on('error', fail).resume()
    return promise.finally(() => {
      clearTimeout(timer)
      payload.off('data', onData).off('end', onEnd).off('error', fail)
      // The rest is read and dropped.
      if (!request.isLate) payload.resume()
    })
  }
}
