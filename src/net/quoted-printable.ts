/** A line has at most 76 characters, including the `=` of a soft line break. */
const lineMax = 75

const lf = 0x0a
const cr = 0x0d
const equals = 0x3d
const digits = Buffer.from('0123456789ABCDEF')

const literal = 0
const space = 1
const lineEnd = 2
const escaped = 3

const kinds = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte === lf || byte === cr) return lineEnd
  if (byte === 0x20 || byte === 0x09) return space
  return byte > 0x20 && byte < 0x7f && byte !== equals ? literal : escaped
})

/** Returns the encoded length of a UTF-8 character by its first byte, or 0 for a continuation byte, which the first byte includes. */
const encodedLength = (byte: number): number => {
  if (byte < 0x80) return 3
  if (byte < 0xc0) return 0
  if (byte < 0xe0) return 6
  return byte < 0xf0 ? 9 : 12
}

/**
 * Returns the quoted-printable encoding (RFC 2045 6.7) of UTF-8 text: all lines end in CRLF, white space at line ends is kept, and
 * no character is split. One pass over the bytes, because emails are long.
 */
export const quotedPrintable = (bytes: Buffer): string => {
  const end = bytes.length
  // Three characters for a byte, and a soft line break after at least 64.
  const out = Buffer.allocUnsafe(Math.ceil(end * 3.15) + 3)
  let size = 0
  let lineTo = lineMax
  for (let at = 0; at < end; at++) {
    const byte = bytes[at]!
    let kind = kinds[byte]!
    if (kind === literal && size < lineTo) {
      out[size++] = byte
      continue
    }
    if (kind === lineEnd) {
      if (byte === cr && bytes[at + 1] === lf) at++
      out[size++] = cr
      out[size++] = lf
      lineTo = size + lineMax
      continue
    }
    // White space at the end of a line or of the text could get lost in transit.
    if (kind === space) kind = kinds[bytes[at + 1] ?? lf] === lineEnd ? escaped : literal
    if (size + (kind === literal ? 1 : encodedLength(byte)) > lineTo) {
      out[size++] = equals
      out[size++] = cr
      out[size++] = lf
      lineTo = size + lineMax
    }
    if (kind === literal) out[size++] = byte
    else {
      out[size++] = equals
      out[size++] = digits[byte >> 4]!
      out[size++] = digits[byte & 15]!
    }
  }
  return out.toString('latin1', 0, size)
}
