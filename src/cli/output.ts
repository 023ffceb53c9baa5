import { stripVTControlCharacters } from 'node:util'

export type Format = 'table' | 'plain' | 'json' | 'jsonl' | 'ids'

/** A column of a table: its heading and what of a row it shows. A Date is shown relative on a terminal, RFC 3339 in a pipe. */
export type Column<Row> = readonly [heading: string, cell: (row: Row) => Cell]
export type Cell = string | number | boolean | Date | null | undefined

interface Sink {
  write(text: string): boolean
}

export interface Output {
  readonly format: Format
  /** Whether stdout is a terminal that a person looks at. */
  readonly isTerminal: boolean
  /** One thing: its REST shape with --json, its id with -q, else its properties a line each. */
  one(thing: object, shown?: Readonly<Record<string, Cell>>): void
  /** Many things under the noun of the command; `nextCursor` where there is more. */
  list<Row extends object>(
    noun: string,
    rows: readonly Row[],
    columns: readonly Column<Row>[],
    nextCursor?: string | null,
  ): Promise<void>
  /** A line of data, as it is. */
  line(text: string): void
  /** A remark for people, on stderr. */
  note(text: string): void
}

// Stored text comes from strangers: none of it may move the cursor or colour the terminal. Line ends become blanks.
export const printable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: taking control characters out is the purpose
  stripVTControlCharacters(text).replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ')

/** As it is, for programs; but a terminal would obey the control characters that JSON does not escape. */
export const json = (value: unknown): string =>
  JSON.stringify(value).replace(/[\u007f-\u009f]/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`)

const units: [seconds: number, name: string][] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
]

/** `3 min ago`, `in 2 h`, `now`. */
export const relative = (time: Date, now = Date.now()): string => {
  const seconds = Math.round((now - time.getTime()) / 1000)
  const unit = units.find(([size]) => Math.abs(seconds) >= size)
  if (!unit) return 'now'
  const amount = `${Math.floor(Math.abs(seconds) / unit[0])} ${unit[1]}`
  return seconds > 0 ? `${amount} ago` : `in ${amount}`
}

const cellText = (cell: Cell, isTerminal: boolean): string => {
  if (cell === null || cell === undefined) return isTerminal ? '–' : ''
  if (cell instanceof Date) return isTerminal ? relative(cell) : cell.toISOString()
  return printable(String(cell))
}

const cellOf = (name: string, value: unknown): Cell => {
  if (typeof value === 'number' && /At$/.test(name)) return new Date(value)
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : (value as Cell)
}

/** Past this many rows a table would wait for its last one: they are streamed in plain columns instead. */
const tableLimit = 1000

const drawTable = async (head: string[], rows: string[][]): Promise<string> => {
  const { default: Table } = await import('cli-table3')
  const chars = {
    top: '',
    'top-mid': '',
    'top-left': '',
    'top-right': '',
    bottom: '',
    'bottom-mid': '',
    'bottom-left': '',
    'bottom-right': '',
    left: '',
    'left-mid': '',
    mid: '',
    'mid-mid': '',
    right: '',
    'right-mid': '',
    middle: '  ',
  }
  const table = new Table({ head, chars, style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 } })
  table.push(...rows)
  // Padding of the last column would wrap to blank lines where a row is wider than the terminal.
  return table.toString().replace(/ +$/gm, '')
}

/** What a command prints: data on `stdout`, everything else on `stderr` (cli.md, Conventions). */
export const createOutput = (format: Format, stdout: Sink, stderr: Sink, isTerminal: boolean): Output => {
  const line = (text: string) => void stdout.write(`${text}\n`)
  const idOf = (row: object) => {
    const { id, email, name, type } = row as Record<string, unknown>
    return printable(String(id ?? email ?? name ?? type ?? ''))
  }
  return {
    format,
    isTerminal,
    line,
    note: (text) => void stderr.write(`${printable(text)}\n`),
    one(thing, shown) {
      if (format === 'json' || format === 'jsonl') return line(json(thing))
      if (format === 'ids') return line(idOf(thing))
      const cells = Object.entries(shown ?? thing)
      const width = Math.max(...cells.map(([name]) => name.length))
      for (const [name, value] of cells) {
        const text = cellText(cellOf(name, value), isTerminal)
        line(isTerminal ? `${name.padEnd(width)}  ${text}` : `${name}\t${text}`)
      }
    },
    async list(noun, rows, columns, nextCursor) {
      if (format === 'json') return line(json({ [noun]: rows, ...(nextCursor && { nextCursor }) }))
      if (format === 'jsonl') {
        for (const row of rows) line(json(row))
        return
      }
      if (format === 'ids') {
        for (const row of rows) line(idOf(row))
        return
      }
      const cells = rows.map((row) => columns.map(([, cell]) => cellText(cell(row), isTerminal)))
      if (!isTerminal || rows.length > tableLimit) for (const row of cells) line(row.join('\t'))
      else if (rows.length === 0) stderr.write(`No ${noun}.\n`)
      else
        line(
          await drawTable(
            columns.map(([heading]) => heading),
            cells,
          ),
        )
      if (nextCursor) stderr.write(`More: --cursor ${nextCursor}\n`)
    },
  }
}
