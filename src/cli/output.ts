import { once } from 'node:events'
import { type Cell, cellOf, cellText, headingOf, jsonText, painted, printable } from './cells.ts'
import { chosenColumns, chosenRows } from './fields.ts'
import { drawRow, fitted, layOut, widthOf } from './table.ts'

export { type Cell, fitted, jsonText, printable }

export type Format = 'table' | 'plain' | 'json' | 'jsonl' | 'ids'

/** A column of a table: its heading and what of a row it shows. */
export type Column<Row> = readonly [heading: string, cell: (row: Row) => Cell]

export interface ListOptions<Row> {
  /** What stands beside the list with --json. */
  beside?: object
  /** What -q prints of a row, where that is not its id, email, name or type. */
  id?: (row: Row) => string
}

export interface Output {
  readonly format: Format
  /** Whether stdout is a terminal that a person looks at. */
  readonly isTerminal: boolean
  /** The properties of `--fields`; null: as the command has them. */
  readonly fields: readonly string[] | null
  /**
   * One thing: its REST shape with --json, its id with -q, else its properties a line each, those of `shown` where it is
   * given. On a terminal a list of things in it is a table of its own, and what is nested is spread.
   */
  one(thing: object, shown?: Readonly<Record<string, unknown>>): void
  /** One thing with secrets that nobody can see again: with -q, which prints the id alone, they are on stderr. */
  secret(thing: object, secrets: readonly string[], shown?: Readonly<Record<string, unknown>>): void
  /** Many things under the noun of the command; `nextCursor` where there is more. Longer than the screen, it is paged. */
  list<Row extends object>(
    noun: string,
    rows: readonly Row[],
    columns: readonly Column<Row>[],
    nextCursor?: string | null,
    options?: ListOptions<Row>,
  ): Promise<void>
  /**
   * Prints rows as they come: an object a line with --json and --jsonl, else as a table whose columns widen as they must.
   * Resolves once they are taken.
   */
  stream<Row extends object>(
    columns: readonly Column<Row>[],
    options?: ListOptions<Row>,
  ): (rows: readonly Row[]) => Promise<void>
  /** A line of data, as it is. */
  line(text: string): void
  /** A remark for people, on stderr. */
  note(text: string): void
}

export interface Terminal {
  format: Format
  stdout: NodeJS.WritableStream
  stderr: NodeJS.WritableStream
  isTerminal: boolean
  isColoured?: boolean
  fields?: readonly string[] | null
  /** Cells of the terminal's line. */
  columns?: number
  /** The time that others are relative to, in epoch ms. */
  now?: () => number
  /** Shows a text, by screens where it is longer than one. */
  page?: (text: string) => Promise<void>
}

const idOf = (row: object): string => {
  const { id, email, name, type } = row as Record<string, unknown>
  return printable(String(id ?? email ?? name ?? type ?? ''))
}

const isThing = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
const isTable = (value: unknown): value is object[] => Array.isArray(value) && value.length > 0 && value.every(isThing)

/** The columns of things that no command has named any for. */
const columnsOf = (rows: readonly object[]): Column<object>[] =>
  [...new Set(rows.flatMap(Object.keys))].map((name) => [
    headingOf(name),
    (row) => cellOf(name, (row as Record<string, unknown>)[name]),
  ])

/** What a command prints: data on `stdout`, everything else on `stderr` (cli.md, Conventions). */
export const createOutput = (terminal: Terminal): Output => {
  const { format, stdout, stderr, isTerminal, isColoured = false, fields = null, columns: width = 80 } = terminal
  const { now = Date.now, page = async (text) => void stdout.write(text) } = terminal
  const line = (text: string) => void stdout.write(`${text}\n`)
  const note = (text: string) => void stderr.write(`${text}\n`)
  const isJson = format === 'json' || format === 'jsonl'
  const textOf = (cell: Cell) => cellText(cell, isTerminal ? now() : null)
  const textsOf = <Row>(rows: readonly Row[], columns: readonly Column<Row>[]) =>
    rows.map((row) => columns.map(([, cell]) => textOf(cell(row))))

  /** The first rows come with their heading, and with what had no room on stderr; the columns have room for all so far. */
  const drawer = <Row extends object>(columns: readonly Column<Row>[]) => {
    const head = columns.map(([heading]) => heading)
    let widest: string[] | undefined
    return (rows: readonly Row[]): string[] => {
      const cells = textsOf(rows, columns)
      const layout = layOut(head, widest ? [widest, ...cells] : cells, width)
      if (!widest && layout.leftOut.length > 0)
        note(`No room for ${layout.leftOut.join(', ')}: --fields chooses, --json has all.`)
      const lines = [...(widest ? [] : [head]), ...cells].map((row) => drawRow(head, row, layout, isColoured))
      widest = cells.reduce(
        (wide, row) => wide.map((text, i) => (widthOf(row[i]!) > widthOf(text) ? row[i]! : text)),
        widest ?? cells[0]!,
      )
      return lines
    }
  }

  /** `name  value` a line each; then what takes more than a line: tables, and JSON that is spread. */
  const drawThing = (thing: Readonly<Record<string, unknown>>): void => {
    const entries = Object.entries(thing)
    const nameWidth = Math.max(...entries.map(([name]) => widthOf(name)))
    const room = width - nameWidth - 2
    const isPart = (value: unknown) => isTable(value) || (isThing(value) && JSON.stringify(value).length > room)
    for (const [name, value] of entries.filter(([, value]) => !isPart(value))) {
      const isWords = Array.isArray(value) && value.length > 0 && !isTable(value)
      const empty = Array.isArray(value) && value.length === 0 ? null : value
      const text = textOf(isWords ? value.join(', ') : cellOf(name, empty))
      line(`${fitted(name, nameWidth)}  ${isColoured ? painted(name, text) : text}`)
    }
    for (const [name, value] of entries.filter(([, value]) => isPart(value))) {
      line(`\n${name}`)
      const lines = isTable(value)
        ? drawer(columnsOf(value))(value)
        : jsonText(value, 2)
            .split('\n')
            .map((text) => `  ${text}`)
      for (const text of lines) line(text)
    }
  }

  const output: Output = {
    format,
    isTerminal,
    fields,
    line,
    note,
    one(thing, shown) {
      const [chosen] = chosenRows([thing], fields)
      if (isJson) return line(jsonText(chosen))
      if (format === 'ids') return line(idOf(thing))
      const names = fields ?? Object.keys(shown ?? thing)
      const values = Object.fromEntries(names.map((name) => [name, { ...thing, ...shown }[name]]))
      if (isTerminal) return drawThing(values)
      for (const [name, value] of Object.entries(values)) line(`${name}\t${textOf(cellOf(name, value))}`)
    },
    secret(thing, secrets, shown) {
      output.one(thing, shown)
      const those = secrets.length === 1 ? `the ${secrets[0]}` : 'these'
      if (format === 'ids') for (const name of secrets) note(`${name}: ${(thing as Record<string, unknown>)[name]}`)
      note(`Keep ${those} now: it is not shown again.`)
    },
    stream<Row extends object>(columns: readonly Column<Row>[], { id = idOf }: ListOptions<Row> = {}) {
      let draw: ReturnType<typeof drawer<Row>> | undefined
      return async (rows: readonly Row[]) => {
        const lines = (): string[] => {
          if (isJson) return chosenRows(rows, fields).map((row) => jsonText(row))
          if (format === 'ids') return rows.map(id)
          const chosen = chosenColumns(rows, columns, fields)
          if (!isTerminal) return textsOf(rows, chosen).map((row) => row.join('\t'))
          draw ??= drawer(chosen)
          return draw(rows)
        }
        if (rows.length > 0 && !stdout.write(`${lines().join('\n')}\n`)) await once(stdout, 'drain')
      }
    },
    async list(noun, rows, columns, nextCursor, options = {}) {
      if (format === 'json') {
        const shown = chosenRows(rows, fields)
        return line(jsonText({ [noun]: shown, ...options.beside, ...(nextCursor && { nextCursor }) }))
      }
      if (format === 'table') {
        const lines = rows.length > 0 ? drawer(chosenColumns(rows, columns, fields))(rows) : []
        if (rows.length === 0) note(`No ${noun}.`)
        else await page(`${lines.join('\n')}\n`)
      } else await output.stream(columns, options)(rows)
      if (nextCursor && (format === 'table' || format === 'plain')) note(`More: --cursor ${nextCursor}`)
    },
  }
  return output
}
