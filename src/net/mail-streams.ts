import RelaxedBody from 'nodemailer/lib/dkim/relaxed-body'
import DataStream from 'nodemailer/lib/smtp-connection/data-stream'

/*
 * nodemailer looks at each byte of an email in JavaScript, once to escape dots and once to sign it: 300 ms for 14 MB. Most of a large
 * email are lines of base64, in which there is nothing to escape and nothing to normalise. Searches of Buffer find that out in 5 ms.
 *
 * Both assume that all line ends are CRLF, as `encodeMail` writes them.
 */

const [lf, cr, space, tab, dot] = [0x0a, 0x0d, 0x20, 0x09, 0x2e]

/** The stream that escapes dots at the beginning of lines (RFC 5321 4.5.2). */
interface Escaping {
  inByteCount: number
  outByteCount: number
  lastByte: number | false
}

type Step = (chunk: Buffer, encoding: BufferEncoding, done: (error: null, chunk?: Buffer) => void) => void

/** The stream that hashes the relaxed form of a body (RFC 6376 3.4.4). */
interface Hashing {
  bodyHash: { update(data: Buffer): void }
  _pendingWsp: boolean
  _pendingCr: boolean
  _lineHasContent: boolean
  _hashEmptyLines(): void
}

type UpdateHash = (chunk: Buffer, final?: boolean) => void

const escaping = DataStream.prototype as unknown as Escaping & { _transform: Step }
const hashing = RelaxedBody.prototype as unknown as Hashing & { updateHash: UpdateHash }
const { _transform: escapeDots } = escaping
const { updateHash } = hashing

/** Whether the relaxed form of a chunk is the chunk: it has no white space, and no empty lines. */
const isRelaxed = (chunk: Buffer): boolean =>
  chunk[0] !== cr &&
  chunk[0] !== lf &&
  chunk.at(-1) !== cr &&
  !chunk.includes(space) &&
  !chunk.includes(tab) &&
  !chunk.includes('\n\r')

/** Makes nodemailer pass on what needs no work. Its classes are changed once, because it creates their instances itself. */
export const speedUpStreams = (): void => {
  escaping._transform = function (this: Escaping, chunk, encoding, done) {
    if (chunk.length === 0 || chunk.includes(dot)) return escapeDots.call(this, chunk, encoding, done)
    this.inByteCount += chunk.length
    this.outByteCount += chunk.length
    this.lastByte = chunk.at(-1)!
    done(null, chunk)
  }
  hashing.updateHash = function (this: Hashing, chunk, final) {
    if (chunk.length === 0 || this._pendingCr || this._pendingWsp || !isRelaxed(chunk))
      return updateHash.call(this, chunk, final)
    this._hashEmptyLines()
    this.bodyHash.update(chunk)
    this._lineHasContent = chunk.at(-1) !== lf
  }
}
