import { once } from 'node:events'
import { Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import {
  type Canvas,
  type Cell,
  type Column,
  type Counts,
  cellOf,
  chosen,
  drawCounts,
  drawObject,
  drawResults,
  harmless,
  idPattern,
  jsonText,
  moment,
  plainRows,
  printable,
  type Results,
  rowsDrawer,
  selected,
  wrapped,
} from './draw/draw.ts'
import { asTyped } from './next.ts'

export {
  type Canvas,
  type Cell,
  type Column,
  drawBars,
  drawGauges,
  drawTrends,
  fitted,
  harmless,
  jsonText,
  mailboxText,
  moneyText,
  printable,
  properties,
  span,
  widthOf,
} from './draw/draw.ts'

/** Prints an object with its statistics: on a terminal they are drawn below it, elsewhere they are further properties. */
const printWith = (out: Output, thing: object, statistics: object, draw: (canvas: Canvas) => string[]): void => {
  if (out.format !== 'table' || out.fields) {
    out.one({ ...thing, ...statistics })
    return
  }
  out.one(thing)
  for (const line of ['', ...draw(out.canvas)]) out.line(line)
}

/** Prints an object with the results of its emails, and what they are compared with. */
export const printWithResults = (
  out: Output,
  thing: object,
  stats: Results,
  compared: Pick<Results, 'average'> = {},
): void => printWith(out, thing, { stats, ...compared }, (canvas) => drawResults({ ...stats, ...compared }, canvas))

/** Prints an object with numbers and their days; `names` are drawn, in this order. */
export const printWithCounts = <Name extends string>(
  out: Output,
  thing: object,
  stats: Counts<Name>,
  names: readonly Name[],
): void => printWith(out, thing, { stats }, (canvas) => drawCounts(stats, names, canvas))

/** Prints what the documents of a file became (`applying`). */
export const printApplied = async <Row extends object>(
  out: Output,
  noun: string,
  applied: readonly Row[],
  columns: readonly Column<Row>[],
  dryRun?: boolean,
): Promise<void> => {
  if (applied.length === 1) out.one({ ...applied[0]!, ...(dryRun && { dryRun }) })
  else await out.list(noun, applied, columns, undefined, { ...(dryRun && { beside: { dryRun } }) })
  if (dryRun) out.note('Nothing was changed.')
}

/** Columns of lists that name something else; on a terminal they show its name. */
const references = /^(COURSE|FORM|JOURNEY|LIST|PIPELINE|PROJECT|SEGMENT|STAGE|TOPIC|WEBINAR)$/

const isReference = (heading: string, cell: Cell): cell is string =>
  typeof cell === 'string' && idPattern.test(cell) && (references.test(heading) || cell.includes(':'))

/** Returns the columns of a list with names in the place of ids. */
const withNames = async <Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  load: Names,
): Promise<readonly Column<Row>[]> => {
  const bare = (cell: string) => cell.slice(cell.indexOf(':') + 1)
  const ids = columns.flatMap(([heading, cell]) =>
    rows
      .map(cell)
      .filter((each) => isReference(heading, each))
      .map(bare),
  )
  if (ids.length === 0) return columns
  const names = await load([...new Set(ids)])
  const named = (heading: string, cell: Cell): Cell => {
    const name = isReference(heading, cell) ? names.get(bare(cell)) : undefined
    return name === undefined ? cell : `${(cell as string).slice(0, (cell as string).indexOf(':') + 1)}${name}`
  }
  return columns.map(([heading, cell, ...where]) => [heading, (row) => named(heading, cell(row)), ...where])
}

/** Returns the names of those ids whose things have one. */
export type Names = (ids: readonly string[]) => Promise<ReadonlyMap<string, string>>

export type Format = 'table' | 'plain' | 'json' | 'jsonl' | 'ids'

export interface ListOptions<Row> {
  /** Further properties beside the list with --json. */
  beside?: object
  /** The text that -q prints for a row. By default it is its id, email, name or type. */
  id?: (row: Row) => string
  /** The name of the rows in `No <rows>.`; by default the noun. */
  called?: string
}

export interface Output {
  readonly format: Format
  /** Whether data is printed as JSON: --json and --jsonl. */
  readonly isJson: boolean
  /** Whether data is printed as text, in lines or a table, rather than as JSON or ids. */
  readonly isText: boolean
  /** Whether stdout is a terminal that a person looks at. */
  readonly isTerminal: boolean
  /** The headings and properties of `--fields`. If it is null, the command's own are shown. */
  readonly fields: readonly string[] | null
  /** What charts have to fit (`drawBars`, `drawGauges`, `drawTrends`). They are only for people: see `format`. */
  readonly canvas: Canvas
  /**
   * Prints one object: its REST shape with --json, its id (if it has one) with -q, otherwise a line for each property (of `shown`, if given).
   * On a terminal a list of objects in it becomes a table, and other nested values are indented JSON.
   */
  one(thing: object, shown?: Readonly<Record<string, unknown>>): void
  /**
   * Returns an object for `one`. On a terminal without --wide and --fields, what it refers to is shown by name: `list` in the place of
   * `listId`. Elsewhere it is the object itself.
   */
  named<Thing extends object>(thing: Thing): Promise<Thing>
  /** Returns the names of those ids whose things have one; none where ids are printed. */
  names: Names
  /** Prints an object whose property `name` is a secret that is shown only once. With -q, which prints the id, it goes to stderr. */
  secret(thing: object, name: string, shown?: Readonly<Record<string, unknown>>): void
  /** Prints rows under the noun of the command. `nextCursor` means that there are more. A list longer than the screen is paged. */
  list<Row extends object>(
    noun: string,
    rows: readonly Row[],
    columns: readonly Column<Row>[],
    nextCursor?: string | null,
    options?: ListOptions<Row>,
  ): Promise<void>
  /**
   * Returns a function that prints batches of rows: one object a line with --json and --jsonl, otherwise a table whose
   * columns widen as needed. It resolves once the rows are written.
   */
  stream<Row extends object>(
    columns: readonly Column<Row>[],
    options?: ListOptions<Row>,
  ): (rows: readonly Row[]) => Promise<void>
  /** Returns a stream for a command's own data, with back-pressure. On a terminal control characters are removed. */
  sink(): NodeJS.WritableStream
  /** Prints a line of data; on a terminal without control characters. */
  line(text: string): void
  /** Returns a time for a sentence: local and relative on a terminal, otherwise RFC 3339. */
  time(time: Date | number): string
  /** Prints a remark for people on stderr. */
  note(text: string): void
  /** Suggests the next command, on stderr. */
  next(command: string): void
  /** Prints a failure on stderr, also after data was printed. With --json and --jsonl it is an object. */
  failure(message: string, hint?: string): void
}

/** Returns the text of a failure for stderr, with the next command if there is one (docs/reference/cli.md#errors). */
export const failureText = (isJson: boolean, message: string, given: string | undefined): string => {
  const hint = given && asTyped(given)
  if (isJson) return `${jsonText({ error: message, ...(hint && { hint }) })}\n`
  return `error: ${printable(message)}\n${hint ? `  next: ${printable(hint)}\n` : ''}`
}

export interface Terminal {
  format: Format
  stdout: NodeJS.WritableStream
  stderr: NodeJS.WritableStream
  isTerminal: boolean
  isColoured?: boolean
  /** Whether the terminal has only ASCII. */
  isAscii?: boolean
  fields?: readonly string[] | null
  /** Cells of the terminal's line. */
  columns?: number
  /** Whether tables may be wider than the terminal. */
  isWide?: boolean
  /** Returns the time that relative times refer to, in epoch ms. */
  now?: () => number
  names?: Names
  /** Shows a text, in a pager if it is longer than the screen. */
  page?: (text: string) => Promise<void>
}

const idOf = (row: object): string => {
  const { id, email, name, type } = row as Record<string, unknown>
  return printable(String(id ?? email ?? name ?? type ?? ''))
}

/** Creates the output of a command: data on `stdout`, everything else on `stderr` (docs/reference/cli.md#output). */
export const createOutput = (terminal: Terminal): Output => {
  const {
    format,
    stdout,
    stderr,
    isTerminal,
    isColoured = false,
    isAscii = false,
    fields = null,
    columns: width = 80,
    isWide = false,
  } = terminal
  const { now = Date.now, page = async (text) => void stdout.write(text) } = terminal
  const showsNames = isTerminal && format === 'table' && !isWide && !fields
  // What a command has done is printed even if the names can't be read: then with ids.
  const names: Names = async (ids) =>
    (showsNames && ids.length > 0 && (await terminal.names?.(ids).catch(() => null))) || new Map()
  const line = (text: string) => void stdout.write(`${isTerminal ? harmless(text) : text}\n`)
  // What to copy stays on one line.
  const isCommand = /^ *(next|console): /
  const note = (text: string) => {
    const lines = isTerminal && !isCommand.test(text) ? wrapped(printable(text), width) : [printable(text)]
    stderr.write(`${lines.join('\n')}\n`)
  }
  const isJson = format === 'json' || format === 'jsonl'
  const isText = format === 'table' || format === 'plain'
  const drawing = { columns: width, isColoured, isWide, cutsTexts: fields === null && !isWide, now }
  const select = <Row extends object>(things: readonly Row[], columns: readonly Column<Row>[]) =>
    fields && selected(fields, things, columns, isTerminal)

  const output: Output = {
    format,
    isJson,
    isText,
    isTerminal,
    fields,
    canvas: { columns: width, isColoured, isAscii },
    line,
    time: (time) => (isTerminal ? moment(new Date(time), now()) : new Date(time).toISOString()),
    note,
    next: (command) => note(`  next: ${asTyped(command)}`),
    failure: (message, hint) => void stderr.write(failureText(isJson, message, hint)),
    sink: () =>
      isTerminal
        ? new Writable({
            decodeStrings: false,
            write: (chunk, _, done) => void stdout.write(harmless(stripVTControlCharacters(String(chunk))), done),
          })
        : stdout,
    one(thing, shown) {
      const those = select([thing], [])
      if (isJson) return line(jsonText(chosen(thing, those)))
      if (format === 'ids') {
        const id = idOf(thing)
        return id ? line(id) : undefined
      }
      const names = those?.map(({ name }) => name) ?? Object.keys(shown ?? thing)
      const values = Object.fromEntries(names.map((name) => [name, { ...thing, ...shown }[name]]))
      const columns: Column<[string, unknown]>[] = [
        ['', ([name]) => name],
        ['', ([name, value]) => cellOf(name, value)],
      ]
      for (const text of isTerminal ? drawObject(drawing, values) : plainRows(Object.entries(values), columns))
        line(text)
    },
    names,
    async named(thing) {
      if (!showsNames) return thing
      const ids = Object.entries(thing).flatMap(([property, value]) => (/Ids?$/.test(property) ? value : []))
      const found = await names(ids.filter((value) => typeof value === 'string'))
      const shown = Object.entries(thing).flatMap(([property, value]) => {
        const kind = property.replace(/Id(s?)$/, '$1')
        // A contact is known by its address.
        if (kind === 'row' && 'email' in thing) return []
        if (kind === property || ![value].flat().some((one) => found.has(one))) return [[property, value]]
        // Some objects have the name beside the id.
        if (kind in thing || `${kind}Name` in thing) return []
        return [[kind, Array.isArray(value) ? value.map((one) => found.get(one) ?? one) : found.get(value)]]
      })
      return Object.fromEntries(shown)
    },
    secret(thing, name, shown) {
      output.one(thing, shown)
      if (format === 'ids') note(`${name}: ${(thing as Record<string, unknown>)[name]}`)
      note(`Save the ${name} now: it is not shown again.`)
    },
    stream<Row extends object>(columns: readonly Column<Row>[], { id = idOf }: ListOptions<Row> = {}) {
      let draw: ((rows: readonly Row[]) => string[]) | undefined
      const drawerOf = (rows: readonly Row[]): ((rows: readonly Row[]) => string[]) => {
        if (format === 'ids') return (more) => more.map(id).filter(Boolean)
        const those = select(rows, columns)
        if (isJson) return (more) => more.map((row) => jsonText(chosen(row, those)))
        const visible = those?.map(({ column }) => column) ?? columns
        if (!isTerminal) return (more) => plainRows(more, visible)
        const drawRows = rowsDrawer(drawing, visible)
        return (more) => {
          const { lines, remarks } = drawRows(more)
          for (const remark of remarks) note(remark)
          return lines
        }
      }
      return async (rows: readonly Row[]) => {
        if (rows.length === 0) return
        draw ??= drawerOf(rows)
        const lines = draw(rows)
        if (lines.length > 0 && !stdout.write(`${lines.join('\n')}\n`)) await once(stdout, 'drain')
      }
    },
    async list(noun, rows, columns, nextCursor, options = {}) {
      const those = select(rows, columns)
      if (format === 'json') {
        const things = rows.map((row) => chosen(row, those))
        return line(jsonText({ [noun]: things, ...options.beside, ...(nextCursor && { nextCursor }) }))
      }
      if (format !== 'table') await output.stream(columns, options)(rows)
      else if (rows.length === 0) note(`No ${options.called ?? noun}.`)
      else {
        const shown = those?.map(({ column }) => column) ?? (await withNames(columns, rows, names))
        const { lines, remarks } = rowsDrawer(drawing, shown)(rows)
        await page(`${lines.join('\n')}\n`)
        for (const remark of remarks) note(remark)
      }
      if (nextCursor && isText) note(`More: --cursor ${nextCursor}`)
    },
  }
  return output
}
