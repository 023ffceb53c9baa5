import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { trimEndOf } from '../lib/strings.ts'
import { failureSentence, isStop } from './failure.ts'

/** The outcome of one POST. It is `ok` after a 2xx status within the deadline; any other outcome has an `error` sentence. */
export interface PostOutcome {
  ok: boolean
  /** The status that was received within the deadline. */
  status: number | null
  error: string | null
  retryAfterSeconds: number | null
  durationMs: number
  /** The start of the answer's body as valid text: at most 1,024 characters. */
  snippet: string
  /** The client was stopped: the outcome says nothing about the receiver, and must not count as a failure. */
  stopped: boolean
}

const maxBodyBytes = 16 * 1024
const snippetBytes = 1024

/** Returns the seconds until the time of a `Retry-After` header, in either of its forms (RFC 9110 section 10.2.3). */
export const retryAfterSeconds = (header: string | string[] | undefined, nowMs: number): number | null => {
  const value = (Array.isArray(header) ? header[0] : header)?.trim() ?? ''
  if (/^\d{1,10}$/.test(value)) return Number(value)
  const at = /^[A-Z][a-z]+, .* GMT$/.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - nowMs) / 1000))
}

const snippetOf = (chunks: Buffer[]): string => {
  if (chunks.length === 0) return ''
  const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
  const text = bytes.toString('utf8', 0, snippetBytes).replaceAll('\0', '\ufffd')
  return bytes.length > snippetBytes ? trimEndOf(text, '\ufffd') : text // the cut may fall within a character
}

const statusError = (status: number): string | null => {
  if (status >= 200 && status <= 299) return null
  return status >= 300 && status <= 399 ? `answered ${status}, redirect not followed` : `answered ${status}`
}

/**
 * One request and its answer under one deadline (docs/reference/events.md#delivery). Settles once. After a status, that is when
 * the body ends, breaks off or exceeds 16 KiB, or at the deadline. Otherwise it is at the failure or the deadline. If the body is
 * cut or breaks off, the status decides, and the connection is not used again.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #settle: (outcome: PostOutcome) => void
  readonly #timeoutMs: number
  readonly #startedAt = performance.now()
  readonly #deadline: NodeJS.Timeout
  #controller: Dispatcher.DispatchController | null = null
  #status: number | null = null
  #retryAfterSeconds: number | null = null
  #chunks: Buffer[] = []
  #bodyBytes = 0
  #isSettled = false

  constructor(timeoutMs: number, settle: (outcome: PostOutcome) => void) {
    this.#settle = settle
    this.#timeoutMs = timeoutMs
    this.#deadline = setTimeout(() => this.#cut(), timeoutMs)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Connected after the deadline: nothing may be sent. Throwing drops the request and keeps the connection.
    if (this.#isSettled) throw new Error('past the deadline')
    this.#controller = controller
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return // an interim answer such as 103
    this.#status = status
    const retryAfter = headers['retry-after']
    if (retryAfter !== undefined) this.#retryAfterSeconds = retryAfterSeconds(retryAfter, Date.now())
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#bodyBytes < snippetBytes) this.#chunks.push(chunk)
    this.#bodyBytes += chunk.length
    if (this.#bodyBytes > maxBodyBytes) this.#cut()
  }

  onResponseEnd(): void {
    this.#finish(null, false)
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#finish(failureSentence(error), isStop(error))
  }

  #cut(): void {
    this.#finish(`timed out after ${this.#timeoutMs / 1000} s`, false)
    this.#controller?.abort(new Error('cut'))
  }

  #finish(error: string | null, stopped: boolean): void {
    if (this.#isSettled) return
    this.#isSettled = true
    clearTimeout(this.#deadline)
    const status = this.#status
    const failure = status === null ? error : statusError(status)
    this.#settle({
      ok: failure === null,
      status,
      error: failure,
      retryAfterSeconds: this.#retryAfterSeconds,
      durationMs: Math.round(performance.now() - this.#startedAt),
      snippet: snippetOf(this.#chunks),
      stopped: stopped && status === null,
    })
  }
}
