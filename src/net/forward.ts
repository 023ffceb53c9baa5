import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { Agent } from 'undici'
import { failureSentence } from './failure.ts'

/** The answer to a forwarded request. Without an answer the status is 502, and `error` says why. */
interface Forwarded {
  status: number
  headers: Record<string, string>
  body: Buffer
  error: string | null
}

export interface Forwarder {
  /** Forwards a request; never rejects. `rawHeaders` as Node has them: names and values alternating, unchanged. */
  forward(rawHeaders: readonly string[], body: Buffer): Promise<Forwarded>
  close(): Promise<void>
}

/** Headers of one connection (RFC 9110 section 7.6.1), and headers that the client sets again. */
const hopByHop = /^(host|connection|keep-alive|transfer-encoding|content-length|te|trailer|upgrade|expect|proxy-.*)$/i

/** The headers of an answer that the sender reads; the others are dropped. */
const answered = ['content-type', 'retry-after']
const maxBodyBytes = 16 * 1024
/** A body that has not ended by then is cut off: the sender waits for the status. */
const bodyMs = 1000

const endToEnd = (rawHeaders: readonly string[]): string[] =>
  rawHeaders.filter((_, i) => !hopByHop.test(rawHeaders[i - (i % 2)]!))

const headersOf = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(answered.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])))

/** Returns the start of a body. A body that breaks off after the status is not an error. */
const readStart = async (body: Readable): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let bytes = 0
  const cut = setTimeout(() => body.destroy(), bodyMs)
  try {
    for await (const chunk of body) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes >= maxBodyBytes) break
    }
  } catch {}
  clearTimeout(cut)
  return Buffer.concat(chunks).subarray(0, maxBodyBytes)
}

/**
 * Forwards requests unchanged to a URL that the operator typed (so any address is allowed): with method POST, all headers except
 * those of the connection, and the raw body. `timeoutMs` limits the whole exchange. Redirects are returned, not followed.
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
