import { Readable } from 'node:stream'
import { type CsvError, Parser } from 'csv-parse'
import { invalid, Problem } from '../lib/problem.ts'

type Bytes = AsyncIterable<Uint8Array>

/** A data row. `line` is the line of the file on which it starts, the header's first being 1. */
export interface CsvRow {
  line: number
  values: string[]
  /** Why nothing can be read from it; `values` is empty then. */
  fault?: string
}

export interface CsvFile {
  headers: string[]
  /** Ordered; lines without any character are none. Can be read once. */
  rows: AsyncIterable<CsvRow>
}

export interface CsvSource {
  /** Gives the file's bytes from its start, anew at every call; null: can be read once (standard input). */
  reopen: (() => Bytes) | null
  bytes: Bytes
  /** A name of the Encoding standard; a byte order mark wins over it. `latin1` there is Windows-1252. */
  encoding: string
}

const newline = 10
const carriageReturn = 13
/** No row is that long: past it a quote is taken for one that nobody closed. */
const maxRowBytes = 4 * 1024 * 1024
const delimiters = [',', ';', '\t']
const notUtf8 = 'not UTF-8: is the file --encoding latin1?'
const openQuote = 'a quote is opened and never closed'

const decoderFor = (label: string, fatal: boolean): TextDecoder => {
  try {
    return new TextDecoder(label, { fatal })
  } catch {
    throw new Problem('usage', `There is no encoding ${label}`, {
      hint: 'use utf-8, latin1 or another name that browsers know',
    })
  }
}

const markedEncoding = ([a, b]: Uint8Array): string | null => {
  if (a === 0xff && b === 0xfe) return 'utf-16le'
  return a === 0xfe && b === 0xff ? 'utf-16be' : null
}

/** Collects at least `size` bytes, or all there are, in front of the rest. */
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

/** The bytes as UTF-8 without byte order mark. `onDamage` is called where UTF-8 input is none, which is left as it is. */
const asUtf8 = async function* (bytes: Bytes, encoding: string, onDamage: () => void): AsyncGenerator<Buffer> {
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
}

const isDecodable = (decoder: TextDecoder, part: Uint8Array): boolean => {
  try {
    decoder.decode(part, { stream: true })
    return true
  } catch {
    return false
  }
}

/** The delimiter that is most frequent outside quotes in the header. */
const delimiterOf = (header: string): string => {
  const bare = header.replaceAll(/"[^"]*"/g, '')
  const count = (delimiter: string) => bare.split(delimiter).length
  return delimiters.reduce((best, delimiter) => (count(delimiter) > count(best) ? delimiter : best))
}

const lineBreaks = (values: readonly string[]): number => {
  let breaks = 0
  for (const value of values) {
    if (value.includes('\n') || value.includes('\r')) breaks += value.match(/\r\n|\n|\r/g)!.length
  }
  return breaks
}

interface Pass {
  records: AsyncGenerator<string[]>
  /** How the pass ended, once it did: at the end of the file, or in a row that swallows the rest. */
  end(): { isWhole: boolean; isQuoteOpen: boolean; bytes: number }
}

/** One pass of the parser. A quote that is never closed ends it early and in bounded memory. */
const parseRecords = (bytes: AsyncIterable<Buffer>, delimiter: string): Pass => {
  const parser = new Parser({
    delimiter,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_quotes: true,
    relax_column_count: true,
    skip_records_with_error: true,
  })
  let openQuote: CsvError | null = null
  let isCut = false
  parser.on('skip', (error: CsvError) => {
    openQuote = error
  })
  const feed = async function* () {
    let records = 0
    let pending = 0
    for await (const chunk of bytes) {
      if (parser.info.records !== records) pending = 0
      records = parser.info.records
      pending += chunk.length
      yield chunk
      isCut = pending > maxRowBytes
      if (isCut) return
    }
  }
  const records = async function* () {
    const source = Readable.from(feed(), { highWaterMark: 1 })
    source.on('error', (error) => parser.destroy(error)).pipe(parser)
    try {
      for await (const record of parser) yield record as string[]
    } finally {
      source.destroy()
    }
  }
  return {
    records: records(),
    end: () => ({
      isWhole: !isCut && openQuote === null,
      isQuoteOpen: openQuote !== null,
      bytes: (openQuote?.bytes as number | undefined) ?? parser.info.bytes,
    }),
  }
}

interface Rest {
  bytes: AsyncGenerator<Buffer>
  /** Where it begins, once its first byte was read. */
  start(): number
}

/** What follows the first line break at or behind `offset`. */
const afterLine = (bytes: AsyncIterable<Buffer>, offset: number): Rest => {
  let position = 0
  let begin = -1
  const rest = async function* () {
    for await (const chunk of bytes) {
      const from = Math.max(0, offset - position)
      const lineEnd = begin < 0 && from < chunk.length ? chunk.indexOf(newline, from) : -1
      if (lineEnd >= 0) begin = position + lineEnd + 1
      position += chunk.length
      if (lineEnd >= 0) yield chunk.subarray(lineEnd + 1)
      else if (begin >= 0) yield chunk
    }
  }
  return { bytes: rest(), start: () => Math.max(begin, 0) }
}

/** All bytes, with the first line taken along: gives it with a stream that still starts at its start. */
const peekLine = async (bytes: AsyncGenerator<Buffer>): Promise<{ line: string; all: AsyncGenerator<Buffer> }> => {
  let head = Buffer.alloc(0)
  let done = false
  while (!done && !head.includes(newline) && !head.includes(carriageReturn) && head.length < maxRowBytes) {
    const next = await bytes.next()
    if (next.done) done = true
    else head = Buffer.concat([head, next.value])
  }
  const all = async function* () {
    yield head
    yield* bytes
  }
  return { line: head.toString('utf8').split(/[\r\n]/, 1)[0] ?? '', all: all() }
}

/**
 * Reads CSV in constant memory: comma, semicolon or tab as the header has it, CRLF, LF or CR, quotes with line breaks
 * in them, a byte order mark. Throws Problem `invalid` where there is no header.
 */
export const readCsv = async ({ bytes, reopen, encoding }: CsvSource): Promise<CsvFile> => {
  let isDamaged = false
  const onDamage = () => {
    isDamaged = true
  }
  const { line: header, all } = await peekLine(asUtf8(bytes, encoding, onDamage))
  const delimiter = delimiterOf(header)
  let pass = parseRecords(all, delimiter)
  const first = await pass.records.next()
  if (first.done) throw invalid('The file is empty: its first line must name the columns')
  const headers = first.value.map((name) => name.trim())

  const rows = async function* (): AsyncGenerator<CsvRow> {
    let line = 2 + lineBreaks(first.value)
    let start = () => 0
    for (;;) {
      for await (const values of pass.records) {
        const isBlank = values.length === 1 && values[0] === ''
        if (isDamaged && values.some((value) => value.includes('\ufffd'))) yield { line, values: [], fault: notUtf8 }
        else if (!isBlank) yield { line, values }
        line += 1 + lineBreaks(values)
      }
      const end = pass.end()
      if (end.isWhole) return
      if (end.isQuoteOpen)
        yield { line, values: [], fault: reopen ? openQuote : `${openQuote}: nothing behind it was read` }
      if (!reopen) return
      // Only that row is lost: the next pass starts behind the line on which it went wrong.
      if (end.isQuoteOpen) line += 1
      const rest = afterLine(asUtf8(reopen(), encoding, onDamage), start() + end.bytes)
      start = rest.start
      pass = parseRecords(rest.bytes, delimiter)
    }
  }
  return { headers, rows: rows() }
}
