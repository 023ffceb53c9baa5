import { Problem, shown } from '../../lib/problem.ts'

export type Bytes = AsyncIterable<Uint8Array>

const newline = 10
const carriageReturn = 13

const decoderFor = (label: string, fatal: boolean): TextDecoder => {
  try {
    return new TextDecoder(label, { fatal })
  } catch {
    throw new Problem('usage', `There is no encoding ${shown(label)}`, {
      hint: 'use utf-8, latin1 or another name that browsers know',
    })
  }
}

const markedEncoding = ([a, b]: Uint8Array): string | null => {
  if (a === 0xff && b === 0xfe) return 'utf-16le'
  return a === 0xfe && b === 0xff ? 'utf-16be' : null
}

/** Yields a first chunk of at least `size` bytes, or of all bytes if there are fewer; then the rest. */
const withHead = async function* (bytes: Bytes, size: number): AsyncGenerator<Buffer> {
  let head: Buffer | null = Buffer.alloc(0)
  for await (const chunk of bytes) {
    if (head === null) yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    else {
      head = Buffer.concat([head, chunk])
      if (head.length < size) continue
      yield head
      head = null
    }
  }
  if (head !== null) yield head
}

/** Converts the bytes to UTF-8 without byte order mark. Passes malformed UTF-8 through unchanged, and calls `onDamage` once. */
export const asUtf8 = async function* (bytes: Bytes, encoding: string, onDamage: () => void): AsyncGenerator<Buffer> {
  let decoder: TextDecoder | null = null
  let check: TextDecoder | null = null
  let first = true
  for await (const chunk of withHead(bytes, 3)) {
    let part = chunk
    if (first) {
      const label = markedEncoding(chunk) ?? encoding
      if (decoderFor(label, false).encoding === 'utf-8') check = decoderFor('utf-8', true)
      else decoder = decoderFor(label, false)
      if (check && chunk.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf]))) part = chunk.subarray(3)
      first = false
    }
    if (decoder) yield Buffer.from(decoder.decode(part, { stream: true }))
    else {
      if (check && !isDecodable(check, part)) {
        check = null
        onDamage()
      }
      yield part
    }
  }
  // The input may end in the middle of a character.
  if (decoder) yield Buffer.from(decoder.decode())
  else if (check && !isDecodable(check)) onDamage()
}

/** Returns whether the next part is valid; without `part`, whether the input may end here. */
const isDecodable = (decoder: TextDecoder, part?: Uint8Array): boolean => {
  try {
    decoder.decode(part, { stream: part !== undefined })
    return true
  } catch {
    return false
  }
}

interface Rest {
  bytes: AsyncGenerator<Buffer>
  /** Where the rest begins, in bytes and lines (the first line of the file is 1). Known after its first byte was read. */
  start(): { byte: number; line: number }
}

/** Returns the position of the first line break at or after `from`; -1: none. */
const lineBreakFrom = (chunk: Buffer, from: number): number => {
  const [feed, carriage] = [chunk.indexOf(newline, from), chunk.indexOf(carriageReturn, from)]
  return feed < 0 || carriage < 0 ? Math.max(feed, carriage) : Math.min(feed, carriage)
}

/** Counts lines incrementally. */
const lineCounter = () => {
  let line = 1
  let last = 0
  return {
    line: () => line,
    add(part: Buffer) {
      for (const byte of part) {
        if (byte === carriageReturn || (byte === newline && last !== carriageReturn)) line++
        last = byte
      }
    },
  }
}

/** Returns the bytes after the first line break (LF, CR or CRLF) at or after `offset`. */
export const afterLine = (bytes: AsyncIterable<Buffer>, offset: number): Rest => {
  let position = 0
  let begin = -1
  let isAfterCarriage = false
  const lines = lineCounter()
  const rest = async function* () {
    for await (const chunk of bytes) {
      let from = begin < 0 ? Math.min(Math.max(0, offset - position), chunk.length) : 0
      if (begin < 0) {
        const at = lineBreakFrom(chunk, from)
        from = at < 0 ? chunk.length : at + 1
        if (at >= 0) begin = position + from
        isAfterCarriage = at >= 0 && chunk[at] === carriageReturn
        lines.add(chunk.subarray(0, from))
      }
      if (isAfterCarriage && from < chunk.length) {
        isAfterCarriage = false
        if (chunk[from] === newline) {
          from++
          begin++
        }
      }
      position += chunk.length
      if (from < chunk.length) yield chunk.subarray(from)
    }
  }
  return { bytes: rest(), start: () => ({ byte: Math.max(begin, 0), line: lines.line() }) }
}

/** Returns the first line that is not empty, or at most about `maxBytes` of it, and a stream of all bytes from the start. */
export const peekLine = async (
  bytes: AsyncGenerator<Buffer>,
  maxBytes: number,
): Promise<{ line: string; all: AsyncGenerator<Buffer> }> => {
  const head: Buffer[] = []
  let size = 0
  let isBegun = false
  let isLine = false
  while (!isLine && size < maxBytes) {
    const next = await bytes.next()
    if (next.done) break
    head.push(next.value)
    size += next.value.length
    const from = isBegun ? 0 : next.value.findIndex((byte) => byte !== newline && byte !== carriageReturn)
    if (from < 0) continue
    isBegun = true
    isLine = lineBreakFrom(next.value, from) >= 0
  }
  const all = async function* () {
    yield* head.splice(0)
    yield* bytes
  }
  return {
    line:
      Buffer.concat(head)
        .toString('utf8')
        .replace(/^[\r\n]+/, '')
        .split(/[\r\n]/, 1)[0] ?? '',
    all: all(),
  }
}
