import { type Cell, cellOf, cellText, headingOf, jsonText, painted } from './cells.ts'
import type { Column } from './output.ts'
import { drawRows, fitted, layOut, widthOf } from './table.ts'

interface Drawing {
  /** Cells of the terminal's line. */
  columns: number
  isColoured: boolean
  now: () => number
  note(text: string): void
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

const cellsOf = <Row>(rows: readonly Row[], columns: readonly Column<Row>[], now: number | null): string[][] =>
  rows.map((row) => columns.map(([, cell]) => cellText(cell(row), now)))

/** Rows for a pipe: their cells with tabs between them. */
export const plainRows = <Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string[] =>
  cellsOf(rows, columns, null).map((cells) => cells.join('\t'))

/**
 * Draws rows as they come, as the lines of a table: the first ones with their heading, and with what had no room on stderr. The
 * columns have room for all that came so far.
 */
export const rowsDrawer = <Row>(
  { columns: width, isColoured, now, note }: Drawing,
  columns: readonly Column<Row>[],
) => {
  const head = columns.map(([heading]) => heading)
  let widest: string[] | undefined
  return (rows: readonly Row[]): string[] => {
    const cells = cellsOf(rows, columns, now())
    const layout = layOut(head, widest ? [widest, ...cells] : cells, width)
    if (!widest && layout.leftOut.length > 0)
      note(`No room for ${layout.leftOut.join(', ')}: --fields chooses, --json has all.`)
    const lines = drawRows(head, [...(widest ? [] : [head]), ...cells], layout, isColoured)
    widest = head.map((_, at) =>
      [...(widest ? [widest] : []), ...cells].reduce(
        (wide, row) => (widthOf(row[at]!) > widthOf(wide) ? row[at]! : wide),
        '',
      ),
    )
    return lines
  }
}

/** `name  value` a line each; then what takes more than a line: lists of things as tables, what is nested as spread JSON. */
export const drawThing = (drawing: Drawing, thing: Readonly<Record<string, unknown>>): string[] => {
  const entries = Object.entries(thing)
  const nameWidth = Math.max(...entries.map(([name]) => widthOf(name)))
  const room = drawing.columns - nameWidth - 2
  const isPart = (value: unknown) => isTable(value) || (isThing(value) && JSON.stringify(value).length > room)
  const cellOfValue = (name: string, value: unknown): Cell =>
    Array.isArray(value) && !isTable(value) ? value.join(', ') || null : cellOf(name, value)
  const drawPart = (value: unknown): string[] =>
    isTable(value)
      ? rowsDrawer(drawing, columnsOf(value))(value)
      : jsonText(value, 2)
          .split('\n')
          .map((text) => `  ${text}`)
  const shown = entries
    .filter(([, value]) => !isPart(value))
    .map(([name, value]) => {
      const text = cellText(cellOfValue(name, value), drawing.now())
      return `${fitted(name, nameWidth)}  ${drawing.isColoured ? painted(name, text) : text}`
    })
  const parts = entries.filter(([, value]) => isPart(value))
  return [...shown, ...parts.flatMap(([name, value]) => ['', name, ...drawPart(value)])]
}
