import type { CsvRow } from './imports.csv.ts'

export const openQuote = 'a quote is opened and never closed'

const lineBreak = /\r\n|\n|\r/

/**
 * Whether a value is several rows that a quote has run together: nobody closed it, and the first quote of a later row, which
 * opens one, was taken for its end. The parser leaves both in the value then.
 */
const isRunTogether = (value: string, delimiter: string): boolean => {
  if (value[0] !== '"' || !lineBreak.test(value)) return false
  const last = value.split(lineBreak).at(-1)!
  const piece = last.slice(last.lastIndexOf(delimiter) + 1)
  const quote = piece.indexOf('"')
  return quote >= 0 && quote < piece.length - 1 && (value.includes(delimiter) || quote === 0)
}

/** A cell of a row that stood in an open quote; null where that can't be told any more. */
const cellOf = (piece: string): string | null =>
  piece.includes('"') ? (/^"([^"]*)"$/.exec(piece)?.[1] ?? null) : piece

const rowOf = (line: number, pieces: readonly string[], rest: readonly string[]): CsvRow => {
  const cells = pieces.map(cellOf)
  return cells.includes(null)
    ? { line, values: [], fault: openQuote }
    : { line, values: [...(cells as string[]), ...rest] }
}

/** The rows that a quote which nobody closed has run together into one, on their lines: the first is lost. null: it is one row. */
export const takeApart = (line: number, values: readonly string[], delimiter: string): CsvRow[] | null => {
  const at = values.findIndex((value) => isRunTogether(value, delimiter))
  if (at < 0) return null
  const start = line + values.slice(0, at).join('').split(lineBreak).length - 1
  const [, ...lines] = values[at]!.split(lineBreak)
  const rest = values.slice(at + 1)
  const rows = lines.map((text, i) => rowOf(start + 1 + i, text.split(delimiter), i === lines.length - 1 ? rest : []))
  const last = rows.pop()!
  return [{ line, values: [], fault: openQuote }, ...rows, ...(takeApart(last.line, rest, delimiter) ?? [last])]
}
