/**
 * Maximum bytes that are read of a message. The report is at its beginning; the rest is the original message. The limit also bounds
 * the cost of a malicious input: parsing the worst message of this size, all MIME boundaries, takes half a second.
 */
export const maxMessageBytes = 256 * 1024
/** A longer line is split. */
const maxLine = 64 * 1024

const lineEnd = 10

interface Line {
  bytes: Uint8Array
  /** false for the later pieces of a long line. */
  isStart: boolean
}

const latin = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')

const isBlank = ({ bytes, isStart }: Line): boolean => isStart && bytes.length <= 2 && /^\r?\n$/.test(latin(bytes))
const isEnvelope = ({ bytes, isStart }: Line): boolean => isStart && latin(bytes.subarray(0, 5)) === 'From '
const isField = ({ bytes, isStart }: Line): boolean =>
  isStart && /^[!-9;-~]+[ \t]*:/.test(latin(bytes.subarray(0, 200)))

/** Splits chunks of bytes into lines, including their line ends. */
const createLines = () => {
  let rest: Uint8Array = new Uint8Array()
  let isStart = true
  return {
    push(chunk: Uint8Array): Line[] {
      const lines: Line[] = []
      const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
      let from = 0
      const cut = (to: number) => {
        lines.push({ bytes: bytes.subarray(from, to), isStart })
        isStart = bytes[to - 1] === lineEnd
        from = to
      }
      for (let end = bytes.indexOf(lineEnd); end >= 0; end = bytes.indexOf(lineEnd, from)) cut(end + 1)
      while (bytes.length - from >= maxLine) cut(from + maxLine)
      rest = bytes.subarray(from)
      return lines
    },
    end: (): Line[] => (rest.length > 0 ? [{ bytes: rest, isStart }] : []),
  }
}

/**
 * Splits an mbox into messages, and keeps the first `maxMessageBytes` of each. A message begins at a line `From …` that is the first line
 * or follows an empty one, and is followed by a header field. An input that does not begin with such a line is one message.
 */
const createSplitter = () => {
  let kept: Uint8Array[] = []
  let size = 0
  let hasText = false
  let isMbox: boolean | null = null
  let isAfterBlank = true
  let envelope: Line | null = null

  const keep = (line: Line) => {
    hasText ||= !isBlank(line)
    if (size >= maxMessageBytes) return
    // Copied, so that the much larger chunk can be freed.
    kept.push(Uint8Array.from(line.bytes.subarray(0, maxMessageBytes - size)))
    size += line.bytes.length
  }
  const take = (): Uint8Array[] => {
    const message = hasText ? [Buffer.concat(kept)] : []
    kept = []
    size = 0
    hasText = false
    return message
  }
  const add = (line: Line): Uint8Array[] => {
    const ended: Uint8Array[] = []
    if (envelope) {
      if (isField(line)) ended.push(...take())
      else keep(envelope)
      envelope = null
    }
    isMbox ??= isBlank(line) ? null : isEnvelope(line)
    if (isMbox && isAfterBlank && isEnvelope(line)) envelope = line
    else keep(line)
    isAfterBlank = isBlank(line)
    return ended
  }
  return { add, take }
}

/** Yields the messages of a file, one RFC 5322 message or an mbox, in order. Only one of them is in memory at a time. */
export const splitMessages = async function* (bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const [lines, splitter] = [createLines(), createSplitter()]
  for await (const chunk of bytes) for (const line of lines.push(chunk)) yield* splitter.add(line)
  for (const line of lines.end()) yield* splitter.add(line)
  yield* splitter.take()
}
