import type { IncomingHttpHeaders } from 'node:http'
import { Agent } from 'undici'
import { failureSentence } from './failure.ts'

/** What came of a request that was handed on. Without an answer the status is 502, and `error` says why. */
export interface Forwarded {
  status: number
  headers: Record<string, string>
  body: Buffer
  error: string | null
}

export interface Forwarder {
  /** Never rejects. `rawHeaders` are Node's: names and values in turn, as they came. */
  forward(rawHeaders: readonly string[], body: Buffer): Promise<Forwarded>
  close(): Promise<void>
}

/** They belong to one connection and not to what is said over it (RFC 9110 section 7.6.1), or are made anew. */
const hopByHop = /^(host|connection|keep-alive|transfer-encoding|content-length|te|trailer|upgrade|expect|proxy-.*)$/i

/** What the sender reads of an answer; the rest of its headers means nothing to it. */
const answered = ['content-type', 'retry-after']
const maxBodyBytes = 16 * 1024

const endToEnd = (rawHeaders: readonly string[]): string[] =>
  rawHeaders.filter((_, i) => !hopByHop.test(rawHeaders[i - (i % 2)]!))

const headersOf = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(answered.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])))

/** The start of a body. What breaks off after the status changes nothing. */
const readStart = async (body: AsyncIterable<Buffer>): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of body) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes >= maxBodyBytes) break
    }
  } catch {}
  return Buffer.concat(chunks).subarray(0, maxBodyBytes)
}

/**
 * Hands requests on to a URL that the operator typed (so any address is allowed), untouched: the method POST, every header
 * but those of the connection, the raw body. One limit of `timeoutMs` over everything; a redirect is an answer like others.
 */
export const openForwarder = (url: URL, timeoutMs: number): Forwarder => {
  const agent = new Agent({ allowH2: false })
  const { origin } = url
  const path = url.pathname + url.search
  return {
    async forward(rawHeaders, body) {
      const signal = AbortSignal.timeout(timeoutMs)
      try {
        const headers = endToEnd(rawHeaders)
        const answer = await agent.request({ origin, path, method: 'POST', headers, body, signal })
        return {
          status: answer.statusCode,
          headers: headersOf(answer.headers),
          body: await readStart(answer.body),
          error: null,
        }
      } catch (error) {
        const late = `no answer in ${timeoutMs / 1000} s`
        const reason = signal.aborted ? late : failureSentence(error as Error)
        return { status: 502, headers: {}, body: Buffer.alloc(0), error: reason }
      }
    },
    close: () => agent.destroy(),
  }
}
