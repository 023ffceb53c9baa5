import { once } from 'node:events'
import { type Cell, cellOf, jsonText, printable } from './cells.ts'
import { drawThing, plainRows, rowsDrawer } from './draw.ts'
import { chosen, chosenColumns, demandKnown } from './fields.ts'
import { fitted } from './table.ts'

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
  /** One thing with a secret, its property `name`, that nobody sees again: with -q, which prints the id alone, it is on stderr. */
  secret(thing: object, name: string, shown?: Readonly<Record<string, unknown>>): void
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

/** What a command prints: data on `stdout`, everything else on `stderr` (cli.md, Conventions). */
export const createOutput = (terminal: Terminal): Output => {
  const { format, stdout, stderr, isTerminal, isColoured = false, fields = null, columns: width = 80 } = terminal
  const { now = Date.now, page = async (text) => void stdout.write(text) } = terminal
  const line = (text: string) => void stdout.write(`${text}\n`)
  const note = (text: string) => void stderr.write(`${printable(text)}\n`)
  const isJson = format === 'json' || format === 'jsonl'
  const drawing = { columns: width, isColoured, now, note }

  const output: Output = {
    format,
    isTerminal,
    fields,
    line,
    note,
    one(thing, shown) {
      demandKnown([thing], fields)
      if (isJson) return line(jsonText(chosen(thing, fields)))
      if (format === 'ids') return line(idOf(thing))
      const names = fields ?? Object.keys(shown ?? thing)
      const values = Object.fromEntries(names.map((name) => [name, { ...thing, ...shown }[name]]))
      const columns: Column<[string, unknown]>[] = [
        ['', ([name]) => name],
        ['', ([name, value]) => cellOf(name, value)],
      ]
      for (const text of isTerminal ? drawThing(drawing, values) : plainRows(Object.entries(values), columns))
        line(text)
    },
    secret(thing, name, shown) {
      output.one(thing, shown)
      if (format === 'ids') note(`${name}: ${(thing as Record<string, unknown>)[name]}`)
      note(`Keep the ${name} now: it is not shown again.`)
    },
    stream<Row extends object>(columns: readonly Column<Row>[], { id = idOf }: ListOptions<Row> = {}) {
      let draw: ((rows: readonly Row[]) => string[]) | undefined
      const drawerOf = (rows: readonly Row[]): ((rows: readonly Row[]) => string[]) => {
        if (format === 'ids') return (more) => more.map(id)
        demandKnown(rows, fields)
        if (isJson) return (more) => more.map((row) => jsonText(chosen(row, fields)))
        const those = chosenColumns(columns, fields)
        return isTerminal ? rowsDrawer(drawing, those) : (more) => plainRows(more, those)
      }
      return async (rows: readonly Row[]) => {
        if (rows.length === 0) return
        draw ??= drawerOf(rows)
        if (!stdout.write(`${draw(rows).join('\n')}\n`)) await once(stdout, 'drain')
      }
    },
    async list(noun, rows, columns, nextCursor, options = {}) {
      demandKnown(rows, fields)
      if (format === 'json') {
        const those = rows.map((row) => chosen(row, fields))
        return line(jsonText({ [noun]: those, ...options.beside, ...(nextCursor && { nextCursor }) }))
      }
      if (format !== 'table') await output.stream(columns, options)(rows)
      else if (rows.length === 0) note(`No ${noun}.`)
      else await page(`${rowsDrawer(drawing, chosenColumns(columns, fields))(rows).join('\n')}\n`)
      if (nextCursor && (format === 'table' || format === 'plain')) note(`More: --cursor ${nextCursor}`)
    },
  }
  return output
}
