/*
 * Lines without a quote are split here. csv-parse took half of an import's CPU in Node. Files also have stray quotes,
 * and the first quote of a later row would end one that was never closed: all rows between them would become one. Lines
 * are split here up to the file's first quote; from there csv-parse reads. A value that begins with its quote, spans
 * lines and has text behind a later quote is taken apart into its rows. A test holds both readers against each other in
 * pieces of any size. Forty lines are not a library's. A value that really looks like a stray quote is rejected. With
 * csv-parse for all lines, an import takes 14 % more CPU of Node, and the same file again 16 % (bench `import`, 2026-11-29).
 */

import { Readable } from 'node:stream'
import { type CsvError, Parser } from 'csv-parse'
import { invalid } from '../../lib/problem.ts'
import { afterLine, asUtf8, type Bytes, peekLine } from './bytes.ts'
import { readPlain } from './plain.ts'
import { type CsvRow, openQuote, takeApart } from './quotes.ts'

export type { CsvRow }

interface CsvFile {
  delimiter: string
  headers: string[]
  /** The rows in the order of the file, without empty lines. They can be read once. */
  rows: AsyncIterable<CsvRow>
}

interface CsvSource {
  /** Opens the file again from its start. It is null if it can be read only once (standard input). */
  reopen: (() => Bytes) | null
  bytes: Bytes
  /** A name of the Encoding standard, where `latin1` is Windows-1252. A byte order mark takes precedence. */
  encoding: string
}

/** Longest accepted row: beyond it an open quote counts as unclosed. */
const maxRowBytes = 4 * 1024 * 1024
const delimiters = [',', ';', '\t']
const zip = 'a zip archive: unpack it, and import each of its files by itself; if it is a spreadsheet, save it as CSV'
const gzip = 'compressed: unpack it with gunzip'
const workbook = 'an Excel workbook: save it as CSV'
/** How files begin that are no text, decoded as UTF-8 or Latin-1: exports of Mailchimp and spreadsheets are zip archives. */
const marks: readonly [string, string][] = [
  ['PK\u0003\u0004', zip],
  ['\u001f\ufffd', gzip],
  ['\u001f‹', gzip],
  ['\ufffd\ufffd\u0011', workbook],
  ['ÐÏ\u0011', workbook],
]
const notUtf8 = 'not UTF-8: is the file --encoding latin1?'

/** The line before the header that tells Excel the delimiter. */
const excelLine = /^"?sep=([,;\t])"?$/i

/** Returns the delimiter that Excel's line names, or that is most frequent outside quotes in the header. */
const delimiterOf = (header: string): string => {
  const named = excelLine.exec(header)?.[1]
  if (named) return named
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

/** Returns whether values of a damaged file contain the damage (replacement characters). */
const isUnreadable = (values: readonly string[]): boolean => values.some((value) => value.includes('\ufffd'))

interface Pass {
  records: AsyncGenerator<string[]>
  /** How the pass ended: at the end of the file, or in a row whose open quote swallows the rest. */
  end(): { isWhole: boolean; isQuoteOpen: boolean; bytes: number }
}

/** Reads the file once. An unclosed quote ends the pass early, in bounded memory. */
const parseRecords = (bytes: AsyncGenerator<Buffer>, delimiter: string): Pass => {
  const plain = readPlain(bytes, delimiter, maxRowBytes)
  let parsed: Pass | null = null
  const records = async function* () {
    try {
      for await (const rows of plain.rows) yield* rows
      parsed = parseQuoted(plain.rest(), delimiter)
      yield* parsed.records
    } finally {
      // Not awaited: it may be waiting for data from a silent pipe.
      bytes.return(undefined).catch(() => {})
    }
  }
  return {
    records: records(),
    end() {
      const { isWhole, isQuoteOpen, bytes } = parsed?.end() ?? { isWhole: true, isQuoteOpen: false, bytes: 0 }
      return { isWhole, isQuoteOpen, bytes: plain.bytes() + bytes }
    },
  }
}

const parseQuoted = (bytes: AsyncIterable<Buffer>, delimiter: string): Pass => {
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

/**
 * Reads CSV in constant memory. Detects the delimiter (comma, semicolon or tab) from the header; accepts CRLF, LF and CR, line breaks in
 * quotes, a byte order mark, and before the header empty lines and Excel's line that names the delimiter. Throws Problem `invalid` if the
 * header is absent or damaged.
 */
export const readCsv = async ({ bytes, reopen, encoding }: CsvSource): Promise<CsvFile> => {
  let isDamaged = false
  const onDamage = () => {
    isDamaged = true
  }
  const { line: header, all } = await peekLine(asUtf8(bytes, encoding, onDamage), maxRowBytes)
  const mark = marks.find(([start]) => header.startsWith(start))
  if (mark) throw invalid(`The file is ${mark[1]}`)
  const delimiter = delimiterOf(header)
  let pass = parseRecords(all, delimiter)
  let headerLine = 1
  let first = await pass.records.next()
  const isBefore = (values: readonly string[]) =>
    values.every((value) => value.trim() === '') || (excelLine.test(header) && /^sep=/i.test(values[0]!))
  while (!first.done && isBefore(first.value)) {
    headerLine += 1 + lineBreaks(first.value)
    first = await pass.records.next()
  }
  if (first.done && pass.end().isWhole) throw invalid('The file is empty: its first line must name the columns')
  // The parser keeps an opening quote in the value if no later quote closes it.
  if (first.done || first.value.some((name) => /^".*[\r\n]/s.test(name)))
    throw invalid(`The first line can't be read: ${openQuote}`)
  if (isDamaged && isUnreadable(first.value)) throw invalid(`The first line can't be read: it is ${notUtf8}`)
  const names = first.value
  const headers = names.map((name) => name.trim())

  const rows = async function* (): AsyncGenerator<CsvRow> {
    let line = headerLine + 1 + lineBreaks(names)
    let start = () => ({ byte: 0, line: 0 })
    for (;;) {
      for await (const values of pass.records) {
        line = Math.max(line, start().line)
        for (const row of takeApart(line, values, delimiter) ?? [{ line, values }]) {
          const isBlank = row.values.length === 1 && row.values[0] === ''
          if (isDamaged && isUnreadable(row.values)) yield { line: row.line, values: [], fault: notUtf8 }
          else if (!isBlank) yield row
        }
        line += 1 + lineBreaks(values)
      }
      const end = pass.end()
      if (end.isWhole) return
      if (end.isQuoteOpen)
        yield { line, values: [], fault: reopen ? openQuote : `${openQuote}: the rest of the file was not read` }
      if (!reopen) return
      // Only that row is lost: the next pass starts after the line with the open quote.
      const rest = afterLine(asUtf8(reopen(), encoding, onDamage), start().byte + end.bytes)
      start = rest.start
      pass = parseRecords(rest.bytes, delimiter)
    }
  }
  return { delimiter, headers, rows: rows() }
}
