/** The beginning of a file, before its first quote. */
interface Plain {
  /** Rows, in chunks. */
  rows: AsyncGenerator<string[][]>
  /** The rest of the file. Call it after reading `rows`. */
  rest(): AsyncGenerator<Buffer>
  /** Length of the rows read so far. */
  bytes(): number
}

const [newline, carriageReturn, quote] = [10, 13, 34]

/** Returns the end of the last complete line. A CR at the very end may be half of a CRLF. */
const endOfLines = (text: Buffer): number =>
  Math.max(text.lastIndexOf(newline), text.length > 1 ? text.lastIndexOf(carriageReturn, text.length - 2) : -1) + 1

const rowsOf = (lines: string, delimiter: string): string[][] => {
  const rows = lines.split(/\r\n|\n|\r/)
  // The empty text after the last line break.
  if (rows.at(-1) === '') rows.pop()
  return rows.map((row) => row.split(delimiter))
}

/**
 * Reads the part of a CSV file (UTF-8) before its first quote. There each line is a row, and reading it costs a fifth of the parser's
 * time. Stops before the first quote, and before a row of over `maxRowBytes`.
 */
export const readPlain = (bytes: AsyncGenerator<Buffer>, delimiter: string, maxRowBytes: number): Plain => {
  let held: Buffer = Buffer.alloc(0)
  let length = 0
  const take = (end: number): string[][] => {
    const rows = rowsOf(held.toString('utf8', 0, end), delimiter)
    held = held.subarray(end)
    length += end
    return rows
  }
  const rows = async function* () {
    for (;;) {
      const { done, value } = await bytes.next()
      if (done) break
      held = held.length === 0 ? value : Buffer.concat([held, value])
      if (held.includes(quote)) return
      const end = endOfLines(held)
      if (end > 0) yield take(end)
      else if (held.length > maxRowBytes) return
    }
    if (held.length > 0) yield take(held.length)
  }
  const rest = async function* () {
    if (held.length > 0) yield held
    yield* bytes
  }
  return { rows: rows(), rest, bytes: () => length }
}
