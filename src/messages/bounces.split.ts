/**
 * Bytes of a message that are read. A report says what it says at its beginning; what follows is the mail that it is about. It
 * also bounds what somebody who means harm can have parsed: the worst of that size, all boundaries, takes half a second.
 */
export const keptBytes = 256 * 1024
/** A line that is longer comes in pieces. */
const maxLine = 64 * 1024

const lineEnd = 10

interface Line {
  bytes: Uint8Array
  /** Not the rest of a long one. */
  isStart: boolean
}

const latin = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')

const isBlank = ({ bytes, isStart }: Line): boolean => isStart && bytes.length <= 2 && /^\r?\n$/.test(latin(bytes))
const isEnvelope = ({ bytes, isStart }: Line): boolean => isStart && latin(bytes.subarray(0, 5)) === 'From '
const isField = ({ bytes, isStart }: Line): boolean =>
  isStart && /^[!-9;-~]+[ \t]*:/.test(latin(bytes.subarray(0, 200)))

/** Cuts bytes, however they come, into lines with their ends. */
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
 * Splits what is one message or an mbox into messages, of each the first `keptBytes`. In an mbox one begins at a line `From …`
 * that stands first or after an empty line and has a header field behind it; what is no mbox is one message, whatever is in it.
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
    if (size >= keptBytes) return
    // A copy: the chunk that it is a part of may be big.
    kept.push(Uint8Array.from(line.bytes.subarray(0, keptBytes - size)))
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

/** The messages of a file, one RFC 5322 message or an mbox, in their order. Never more than one of them is in memory. */
export const splitMessages = async function* (bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const [lines, splitter] = [createLines(), createSplitter()]
  for await (const chunk of bytes) for (const line of lines.push(chunk)) yield* splitter.add(line)
  for (const line of lines.end()) yield* splitter.add(line)
  yield* splitter.take()
}
