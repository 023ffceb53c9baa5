import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { errorCodes, type FastifyRequest } from 'fastify'
import { invalid, Problem } from '../lib/problem.ts'
import type { Route } from './route.ts'

const megabyte = 1024 * 1024

/** Maximum body sizes: routes without a key, with a key, and routes that take hundreds of contacts or a whole email. */
export const bodyLimits = { open: 64 * 1024, keyed: megabyte, large: 8 * megabyte, attached: 16 * megabyte } as const

/** Formats a size for error messages. */
export const sizeText = (bytes: number): string => (bytes < megabyte ? `${bytes / 1024} KB` : `${bytes / megabyte} MB`)

declare module 'fastify' {
  interface FastifyContextConfig {
    attachedOf?: Route['attachedOf'] | undefined
  }
  interface FastifyRequest {
    /** Releases the memory of the body when the request has ended. It is null if no body was read. */
    releaseBody: (() => void) | null
  }
}

/** Maximum memory for bodies of unanswered requests: in total (`all`), and per account or client address (`each`). */
const memoryLimits = {
  keyed: { all: 64 * megabyte, each: 32 * megabyte },
  open: { all: 16 * megabyte, each: 4 * megabyte },
} as const

/** Time limit for a body on a route without a key. With a key, the server's request timeout applies. */
const openBodyMs = 15_000

const partBytes = 16 * 1024
/** What follows the first parts of a body is kept in larger ones. */
const smallParts = 64
const largePartBytes = 256 * 1024

/** One-byte HTTP chunks cost a thousand times their size in CPU. After this many chunks, they must average 16 bytes. */
const freeChunks = 4096
const minAverageBytes = 16
const maxRefusedChunks = 4 * freeChunks
const tinyChunks = () => invalid('body must not be sent in chunks of a few bytes')
/** Requests whose body was ended early because its chunks are too small. */
const refused = new WeakSet<object>()

/**
 * Merges small chunks of a body before its stream buffers them: each chunk would take 400 bytes of memory while the key is looked
 * up, or after the body was refused. The stream receives the merged chunks after each turn of the event loop.
 */
export const mergeChunks = (request: IncomingMessage): void => {
  if (request.headers['transfer-encoding'] === undefined) return
  const push = request.push.bind(request)
  let merged = Buffer.alloc(0)
  let used = 0
  let chunks = 0
  let bytes = 0
  let wantsMore = true
  const flush = () => {
    if (used > 0) wantsMore = push(merged.subarray(0, used))
    merged = merged.subarray(used)
    used = 0
  }
  request.push = (chunk: Buffer | null) => {
    // After a refusal, a small rest is still read, so that its client receives the answer; a larger rest is not.
    if (refused.has(request)) return ++chunks < maxRefusedChunks
    if (chunk === null || chunk.length >= partBytes) {
      flush()
      return push(chunk)
    }
    bytes += chunk.length
    if (++chunks > freeChunks && bytes < minAverageBytes * chunks) {
      refused.add(request)
      used = 0
      // If a stream ends before its message is complete, Node closes the connection without sending the answer.
      request.complete = true
      push(null)
      return true
    }
    if (used + chunk.length > merged.length) {
      flush()
      merged = Buffer.allocUnsafeSlow(partBytes)
    }
    if (used === 0) setImmediate(flush)
    used += chunk.copy(merged, used)
    return wantsMore
  }
}

/** The answer names `limit`, which is the limit of the route by default. */
export const tooLarge = (limit?: number) => Object.assign(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE(), { limit })
const wrongLength = () => new errorCodes.FST_ERR_CTP_INVALID_CONTENT_LENGTH()
/** Node's code for a request timeout. */
export const timeoutCode = 'ERR_HTTP_REQUEST_TIMEOUT'
const timedOut = () => Object.assign(new Error('The body took too long to arrive'), { code: timeoutCode })
const tooManyUploads = () =>
  new Problem('unavailable', 'Too many uploads are in progress: try again', { retryAfterSeconds: 2 })

/** Memory used by bodies, counted per owner: the account or client address. */
class MemoryBudget {
  readonly #limit: { all: number; each: number }
  readonly #each = new Map<string, number>()
  #all = 0

  constructor(limit: { all: number; each: number }) {
    this.#limit = limit
  }

  /** Returns whether the owner could take `bytes`; takes nothing if not. A negative number releases memory. */
  take(owner: string, bytes: number): boolean {
    const each = (this.#each.get(owner) ?? 0) + bytes
    if (bytes > 0 && (each > this.#limit.each || this.#all + bytes > this.#limit.all)) return false
    this.#all += bytes
    if (each > 0) this.#each.set(owner, each)
    else this.#each.delete(owner)
    return true
  }
}

/** JSON values per body. The largest batch of contacts (500 with 40 columns each) has 21,000; other bodies have about 100. */
const maxValues = { large: 50_000, other: 10_000 } as const
const maxDepth = 64

const [quote, comma, backslash] = [0x22, 0x2c, 0x5c]
const [openArray, closeArray, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

/** The bytes with a meaning outside JSON strings. */
const isStructural = new Uint8Array(256)
for (const byte of [quote, comma, openArray, closeArray, openObject, closeObject]) isStructural[byte] = 1

/** A string of a JSON text: the offsets of its first byte and of the quote after its last one. */
interface Span {
  from: number
  to: number
}

/** Strings of at least this length are noted: they may be parsed apart from the rest. */
const longString = 128 * 1024

/** A string is searched in windows, which double as long as they have neither quotes nor escapes. */
const firstWindow = 256

/** Returns the first quote or escape of a part of a string, or its end. */
const endOfRun = (chunk: Buffer, from: number, end: number): number => {
  let at = from
  for (let window = 2 * firstWindow; at < end; window *= 2) {
    const piece = chunk.subarray(at, at + window)
    const quoted = piece.indexOf(quote)
    const escaped = (quoted < 0 ? piece : piece.subarray(0, quoted)).indexOf(backslash)
    if (escaped >= 0) return at + escaped
    if (quoted >= 0) return at + quoted
    at += piece.length
  }
  return end
}

/**
 * Returns a function that counts the values of a JSON text chunk by chunk. It throws Problem `invalid` if the text has more than
 * `maxValues` values or too many levels: parsing 8 MB of `[{},{},…]` takes a second, and deep nesting overflows the stack of
 * recursive code. The inner loops over local variables take 1 to 3 ns per byte (8 MB in 10 ms), a quarter of the time of one loop
 * with a state variable. Long strings without escapes, such as base64, take 0.2 ns per byte. They are added to `long`.
 */
export const createValueCounter = (maxValues: number, long: Span[] = []): ((chunk: Buffer) => void) => {
  let values = 0
  let depth = 0
  let isInString = false
  let isEscaped = false
  /** Offsets in the text. */
  let begin = 0
  let stringFrom = 0
  return (chunk) => {
    const end = chunk.length
    let at = isEscaped ? 1 : 0
    let inString = isInString
    while (at < end) {
      if (inString) {
        while (at < end) {
          const windowEnd = Math.min(end, at + firstWindow)
          while (at < windowEnd && chunk[at] !== quote) at += chunk[at] === backslash ? 2 : 1
          if (at < windowEnd) break
          if (at < end) at = endOfRun(chunk, at, end)
        }
        if (at >= end) break
        inString = false
        if (begin + at - stringFrom >= longString) long.push({ from: stringFrom, to: begin + at })
        at++
      }
      while (at < end && isStructural[chunk[at]!] === 0) at++
      if (at >= end) break
      const byte = chunk[at++]
      if (byte === quote) {
        inString = true
        stringFrom = begin + at
      } else if (byte === closeArray || byte === closeObject) depth--
      else {
        values++
        if (byte !== comma) depth++
        if (depth > maxDepth) throw invalid(`body must not be nested deeper than ${maxDepth} levels`)
        if (values > maxValues) throw invalid(`body must have at most ${maxValues.toLocaleString('en')} values`)
      }
    }
    isInString = inString
    begin += end
    // The escaped byte is the first byte of the next chunk.
    isEscaped = at > end
  }
}

/** Whether the Content-Type is JSON. */
export const isJson = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean =>
  /^application\/json\b/i.test(headers['content-type'] ?? '')

/** Returns the maximum body size of a request. Without a key, only forms (not JSON) can exceed the open limit. */
export const bodyLimitOf = (request: FastifyRequest): number => {
  const limit = request.routeOptions.bodyLimit ?? bodyLimits.open
  return request.caller || !isJson(request) ? limit : Math.min(limit, bodyLimits.open)
}

/** Decodes UTF-8. Throws Problem `invalid` for other bytes: replacing them takes 100 ms in 8 MB and would change the content. */
export const textOf = (body: Buffer): string => {
  if (!isUtf8(body)) throw invalid('body must be UTF-8')
  return body.toString()
}

/** A body as it was received. */
export class Body {
  readonly length: number
  /** The long strings of a JSON text, in their order. */
  readonly long: readonly Span[]
  readonly #parts: readonly Buffer[]

  constructor(parts: readonly Buffer[], length: number, long: readonly Span[]) {
    this.#parts = parts
    this.length = length
    this.long = long
  }

  whole(): Buffer {
    return Buffer.concat(this.#parts, this.length)
  }

  /** Yields the bytes from an offset up to another one, in pieces. */
  *pieces(from: number, to: number): Generator<Buffer> {
    let offset = 0
    for (const part of this.#parts) {
      const [begin, end] = [Math.max(0, from - offset), Math.min(part.length, to - offset)]
      if (begin < end) yield part.subarray(begin, end)
      offset += part.length
    }
  }
}

/** Reads the whole body of a request, up to the limit of its route. */
export type ReadBody = (request: FastifyRequest, payload: NodeJS.ReadableStream) => Promise<Body>

/**
 * Creates a reader that uses a bounded amount of memory, for any number of connections and any size of chunks. It copies chunks
 * into larger buffers, because each chunk would keep the whole socket buffer that it points into.
 */
export const createBodyReader = (): ReadBody => {
  const keyed = new MemoryBudget(memoryLimits.keyed)
  const open = new MemoryBudget(memoryLimits.open)
  return (request, payload) => {
    const { promise, resolve, reject } = Promise.withResolvers<Body>()
    const limit = bodyLimitOf(request)
    const contentLength = Number(request.headers['content-length'] ?? Number.NaN)
    if (contentLength > limit) return Promise.reject(tooLarge())
    const [memory, owner] = request.caller ? [keyed, request.caller.accountId] : [open, request.ip]
    let parts: Buffer[] = []
    let taken = 0
    let free = 0
    let length = 0
    request.releaseBody = () => {
      memory.take(owner, -taken)
      parts = []
      taken = 0
      free = 0
    }
    const fail = (error: Error) => {
      // The rest of the body is not read: the answer closes the connection.
      payload.pause()
      reject(error)
    }
    const keep = (chunk: Buffer): boolean => {
      for (let at = 0; at < chunk.length; ) {
        if (free === 0) {
          const size = parts.length < smallParts ? partBytes : largePartBytes
          if (!memory.take(owner, size)) return false
          parts.push(Buffer.allocUnsafeSlow(size))
          taken += size
          free = size
        }
        const part = parts.at(-1)!
        const copied = chunk.copy(part, part.length - free, at)
        at += copied
        free -= copied
      }
      length += chunk.length
      return true
    }
    const long: Span[] = []
    const countValues = isJson(request)
      ? createValueCounter(limit >= bodyLimits.large ? maxValues.large : maxValues.other, long)
      : null
    const onData = (chunk: Buffer | string) => {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      if (length + bytes.length > limit) return fail(tooLarge())
      try {
        countValues?.(bytes)
      } catch (error) {
        return fail(error as Error)
      }
      if (!keep(bytes)) fail(tooManyUploads())
    }
    const onEnd = () => {
      if (refused.has(request.raw)) return fail(tinyChunks())
      if (!Number.isNaN(contentLength) && contentLength !== length) return fail(wrongLength())
      resolve(new Body(parts, length, long))
    }
    const timer = request.caller ? undefined : setTimeout(() => fail(timedOut()), openBodyMs)
    payload.on('data', onData).on('end', onEnd).on('error', fail).resume()
    return promise.finally(() => {
      clearTimeout(timer)
      payload.off('data', onData).off('end', onEnd).off('error', fail)
    })
  }
}
