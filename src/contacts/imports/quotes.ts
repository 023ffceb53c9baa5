/** A data row. `line` is the line of the file on which it starts; the first line is 1. */
export interface CsvRow {
  line: number
  values: string[]
  /** Why the row can't be read; `values` is empty then. */
  fault?: string
}

export const openQuote = 'a quote is opened and never closed'

const lineBreak = /\r\n|\n|\r/

/**
 * Returns whether a value consists of several rows that an unclosed quote has merged: the parser took the opening quote of a later row
 * for the closing one. It leaves both quotes in the value then.
 */
const isRunTogether = (value: string, delimiter: string): boolean => {
  if (value[0] !== '"' || !lineBreak.test(value)) return false
  const last = value.split(lineBreak).at(-1)!
  const piece = last.slice(last.lastIndexOf(delimiter) + 1)
  const quote = piece.indexOf('"')
  return quote >= 0 && quote < piece.length - 1 && (value.includes(delimiter) || quote === 0)
}

/** Returns a cell of a merged row, or null if its text can't be recovered. */
const cellOf = (piece: string): string | null =>
  piece.includes('"') ? (/^"([^"]*)"$/.exec(piece)?.[1] ?? null) : piece

const rowOf = (line: number, pieces: readonly string[], rest: readonly string[]): CsvRow => {
  const cells = pieces.map(cellOf)
  return cells.includes(null)
    ? { line, values: [], fault: openQuote }
    : { line, values: [...(cells as string[]), ...rest] }
}

/** Splits a row that an unclosed quote has merged from several rows; the first of them is lost. Returns null for a normal row. */
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
