import { setImmediate } from 'node:timers/promises'

/** Returns the number of bytes that a base64 text of this length and padding has. */
export const decodedLength = (encoded: string): number =>
  (encoded.length / 4) * 3 - (encoded.endsWith('==') ? 2 : encoded.endsWith('=') ? 1 : 0)

/** Returns null for invalid base64. Node's decoder accepts `-` and `_`, and skips all other invalid characters, which the length shows. */
export const decodeBase64 = (encoded: string): Buffer | null => {
  if (encoded.length % 4 !== 0 || encoded.includes('-') || encoded.includes('_')) return null
  const bytes = Buffer.from(encoded, 'base64')
  return bytes.length === decodedLength(encoded) ? bytes : null
}

/** The value of a base64 text that was decoded while its JSON was parsed. `bytes` is null if it is not base64. */
export class Decoded {
  readonly bytes: Buffer | null

  constructor(bytes: Buffer | null) {
    this.bytes = bytes
  }
}

/**
 * Decodes a JSON string of base64, given in pieces without its quotes, and lets other work run between them. Its only escapes may be
 * `\\/`, which PHP writes for `/`; with others it returns null.
 */
export const decodeJsonBase64 = async (pieces: Iterable<Buffer>, length: number): Promise<Decoded | null> => {
  const bytes = Buffer.allocUnsafeSlow(Math.ceil(length / 4) * 3)
  let used = 0
  let rest = ''
  let isValid = true
  const decode = (text: string) => {
    const decoded = isValid ? decodeBase64(text) : null
    isValid = decoded !== null
    used += decoded?.copy(bytes, used) ?? 0
  }
  for (const piece of pieces) {
    const text = (rest + piece.toString('latin1')).replaceAll('\\/', '/')
    const escaped = text.indexOf('\\')
    if (escaped >= 0 && escaped < text.length - 1) return null
    // The last four characters may be padded, and the last one may be an escape: they wait for the next piece.
    const whole = Math.max(0, text.length - 4 - (text.length % 4))
    if (text.slice(0, whole).includes('=')) isValid = false
    decode(text.slice(0, whole))
    rest = text.slice(whole)
    await setImmediate()
  }
  decode(rest)
  return new Decoded(isValid ? bytes.subarray(0, used) : null)
}
