import type { IncomingHttpHeaders } from 'node:http'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import type { Dispatcher } from 'undici'
import { failureSentence } from './failure.ts'

/** The outcome of a download: the bytes, or a sentence without the URL, which may be secret. */
export type Downloaded = { body: Buffer; error: null } | { body: null; error: string }

/** One answer: its body, or where it redirects to. */
export type Hop = Downloaded | { body: null; error: null; location: string }

const failed = (error: string): Downloaded => ({ body: null, error })

const tooLong = (maxBytes: number): string => `answer has more than ${Math.floor(maxBytes / 1_000_000)} MB`

type Decoder = (
  body: Buffer,
  limits: { maxOutputLength: number },
  done: (error: Error | null, plain: Buffer) => void,
) => void
const decoders: Readonly<Record<string, Decoder>> = {
  gzip: gunzip,
  'x-gzip': gunzip,
  deflate: inflate,
  br: brotliDecompress,
}

/** Returns the decoded body, at most `maxBytes` of it: a small compressed answer may become a large one. */
const decoded = (body: Buffer, encoding: string, maxBytes: number): Promise<Downloaded> =>
  new Promise((resolve) => {
    if (encoding === '' || encoding === 'identity') return resolve({ body, error: null })
    const decode = Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined
    if (!decode) return resolve(failed('answer has an unknown encoding'))
    decode(body, { maxOutputLength: maxBytes }, (error, plain) => {
      if (!error) resolve({ body: plain, error: null })
      else
        resolve(
          failed(
            (error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE' ? tooLong(maxBytes) : 'answer is damaged',
          ),
        )
    })
  })

const redirects = new Set([301, 302, 303, 307, 308])

/** One GET and its answer. Settles once: at the end of the body, at a failure, or once the answer is too long or too late. */
export class Download implements Dispatcher.DispatchHandler {
  readonly #settle: (hop: Hop) => void
  readonly #maxBytes: number
  readonly #deadline: NodeJS.Timeout
  #controller: Dispatcher.DispatchController | null = null
  #encoding = ''
  #chunks: Buffer[] = []
  #bytes = 0
  #isSettled = false

  constructor(timeoutMs: number, maxBytes: number, settle: (hop: Hop) => void) {
    this.#settle = settle
    this.#maxBytes = maxBytes
    this.#deadline = setTimeout(() => this.#end(failed('no complete answer in time')), timeoutMs)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Connected after the deadline: nothing may be sent.
    if (this.#isSettled) throw new Error('past the deadline')
    this.#controller = controller
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200 || this.#isSettled) return
    const { location } = headers
    if (redirects.has(status) && typeof location === 'string') this.#end({ body: null, error: null, location })
    else if (status !== 200) this.#end(failed(`answered ${status}`))
    this.#encoding = String(headers['content-encoding'] ?? '').toLowerCase()
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isSettled) return
    this.#bytes += chunk.length
    if (this.#bytes > this.#maxBytes) this.#end(failed(tooLong(this.#maxBytes)))
    else this.#chunks.push(chunk)
  }

  async onResponseEnd(): Promise<void> {
    if (this.#isSettled) return
    const hop = await decoded(Buffer.concat(this.#chunks), this.#encoding, this.#maxBytes)
    this.#end(hop)
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end(failed(failureSentence(error)))
  }

  #end(hop: Hop): void {
    if (this.#isSettled) return
    this.#isSettled = true
    clearTimeout(this.#deadline)
    this.#chunks = []
    this.#settle(hop)
    this.#controller?.abort(new Error('settled'))
  }
}
