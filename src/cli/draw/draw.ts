import {
  type Cell,
  type Column,
  cellOf,
  headingOf,
  jsonText,
  type Money,
  mailboxText,
  painted,
  plainText,
  type Shown,
  shownText,
} from './cells.ts'
import { drawRows, type Layout, layOut, widthOf, wrapped } from './draw.table.ts'

export {
  type Cell,
  type Column,
  cellOf,
  harmless,
  idPattern,
  jsonText,
  type Money,
  mailboxText,
  moment,
  moneyText,
  printable,
  properties,
  relative,
  span,
} from './cells.ts'
export { type Canvas, drawBars, drawGauges, drawTrends, isAsciiOnly, meter } from './charts.ts'
export { type Counts, drawCounts, drawResults, type Results } from './draw.results.ts'
export { fitted, widthOf, wrapped } from './draw.table.ts'
export { chosen, selected } from './fields.ts'

interface Drawing {
  /** Cells of the terminal's line. */
  columns: number
  isColoured: boolean
  /** Whether tables may be wider than the terminal. */
  isWide: boolean
  /** Whether long texts of lists are cut. */
  cutsTexts?: boolean
  now: () => number
}

/** Lines of a text in a list; the rest is cut. */
const linesOfText = 2

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
const isTable = (value: unknown): value is object[] => Array.isArray(value) && value.length > 0 && value.every(isObject)

const amounts = ['amount', 'price', 'value']

/** Returns an object for people: an amount and its currency become one property. */
const mergeMoney = (thing: object): Readonly<Record<string, unknown>> => {
  const { currency, ...others } = thing as Record<string, unknown>
  const name = amounts.find((amount) => typeof others[amount] === 'number')
  if (typeof currency !== 'string' || name === undefined) return thing as Record<string, unknown>
  return { ...others, [name]: { amount: others[name], currency } }
}

const isMoney = (value: unknown): value is Money =>
  isObject(value) && Object.keys(value).join() === 'amount,currency' && typeof (value as Money).amount === 'number'

/** `createdAt` as the label `created at`. */
const labelOf = (property: string): string =>
  /[a-z][A-Z]/.test(property) ? headingOf(property).toLowerCase() : property

const isMailbox = (thing: object): thing is Parameters<typeof mailboxText>[0] =>
  Object.keys(thing).toSorted().join() === 'email,name' &&
  Object.values(thing).every((part) => typeof part === 'string')

/** Returns an object as one line, such as `status: valid, reasons: –`. */
const briefly = (thing: object, now: number): string =>
  Object.entries(thing)
    .map(([name, value]) => `${name}: ${shownText(cellOfPerson(name, value, now), now, true).text}`)
    .join(', ')

const cellOfPerson = (name: string, value: unknown, now: number): Cell => {
  if (isMoney(value)) return value
  if (Array.isArray(value) && !isTable(value)) return value.join(', ') || null
  if (!isObject(value)) return cellOf(name, value)
  return isMailbox(value) ? mailboxText(value) : briefly(value, now) || null
}

/** Returns a column for each property of the rows, for objects whose command names no columns. */
const columnsOf = (rows: readonly object[], now: number): Column<object>[] =>
  [...new Set(rows.flatMap(Object.keys))].map((name) => [
    headingOf(name),
    (row) => cellOfPerson(name, Object.hasOwn(row, name) ? (row as Record<string, unknown>)[name] : undefined, now),
  ])

/** Returns rows for a pipe: cells separated by tabs. */
export const plainRows = <Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string[] =>
  rows.map((row) => columns.flatMap(([, cell, only]) => (only === 'terminal' ? [] : plainText(cell(row)))).join('\t'))

const shownRows = <Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  now: number,
  isExact = false,
): Shown[][] => rows.map((row) => columns.map(([, cell]) => shownText(cell(row), now, isExact)))

const longer = (a: string, b: string) => (widthOf(b) > widthOf(a) ? b : a)
const widest = (a: Shown, b: Shown): Shown => ({
  text: longer(a.text, b.text),
  short: longer(a.short, b.short),
  isNumber: a.isNumber && b.isNumber,
})

const remarksOn = ({ hidden, hasShortIds }: Layout, hasCut: boolean): string[] => [
  ...(hidden.length > 0 ? [`Hidden columns: ${hidden.join(', ')} (use --fields or --wide)`] : []),
  ...(hasShortIds ? [`Commands accept shortened ids. --wide shows ${hasCut ? 'ids and texts' : 'them'} in full.`] : []),
  ...(hasCut && !hasShortIds ? ['Some texts are cut. --wide or --fields shows them in full.'] : []),
]

/**
 * Returns a function that draws rows as lines of one table, batch by batch. The heading comes first, and again when the
 * columns change. Columns are wide enough for all rows so far. `remarks` name what is hidden or shortened.
 */
export const rowsDrawer = <Row>(
  { columns: width, isColoured, isWide, cutsTexts = false, now }: Drawing,
  all: readonly Column<Row>[],
): ((rows: readonly Row[]) => { lines: string[]; remarks: string[] }) => {
  const columns = all.filter(([, , only]) => only !== 'pipe' && (only !== 'wide' || isWide))
  const head = columns.map(([heading]) => heading)
  let most: Shown[] | undefined
  let before: string | undefined
  return (rows) => {
    const cells = shownRows(rows, columns, now())
    const layout = layOut(head, most ? [most, ...cells] : cells, isWide ? null : width)
    const columnsShown = layout.shown.map(({ at }) => at).join()
    const hasHead = before !== columnsShown
    before = columnsShown
    most = [...(most ? [most] : []), ...cells].reduce((row, other) => row.map((cell, at) => widest(cell, other[at]!)))
    const options = { isColoured, hasHead, columns: width, ...(cutsTexts && { maxLines: linesOfText }) }
    const { lines, hasCut } = drawRows(head, cells, layout, options)
    return { lines, remarks: hasHead ? remarksOn(layout, hasCut) : [] }
  }
}

/** Draws rows within an object: as a table with full ids if every non-empty column fits, otherwise one object after another. */
const drawPartRows = (drawing: Drawing, rows: readonly object[]): string[] => {
  const merged = rows.map(mergeMoney)
  const columns = columnsOf(merged, drawing.now())
  const cells = shownRows(merged, columns, drawing.now(), true)
  const head = columns.map(([heading]) => heading)
  const layout = layOut(head, cells, drawing.isWide ? null : drawing.columns, { keepsIds: true })
  const isEmpty = (heading: string) => cells.every((row) => ['', '–'].includes(row[head.indexOf(heading)]!.text))
  if (layout.hidden.every(isEmpty)) return drawRows(head, cells, layout, { isColoured: drawing.isColoured }).lines
  return rows.flatMap((row, i) => [...(i > 0 ? [''] : []), ...drawObject(drawing, row as Record<string, unknown>)])
}

/** If less room is left beside the names of an object, and a value needs more, its values are below them. */
const leastRoom = 20

/**
 * Draws an object: `name  value` on a line each, long values wrapped. Values that need more follow: lists of objects as
 * tables, other nested values as indented JSON. Nothing is cut.
 */
export const drawObject = (drawing: Drawing, thing: Readonly<Record<string, unknown>>): string[] => {
  const entries = Object.entries(mergeMoney(thing))
  const nameWidth = Math.max(...entries.map(([name]) => widthOf(labelOf(name))))
  const besideNames = drawing.columns - nameWidth - 2
  const textOf = (name: string, value: unknown): string =>
    shownText(cellOfPerson(name, value, drawing.now()), drawing.now(), true).text
  const isLong = ([name, value]: [string, unknown]) => !isTable(value) && widthOf(textOf(name, value)) > besideNames
  const isBelow = !drawing.isWide && besideNames < leastRoom && entries.some(isLong)
  const room = isBelow ? drawing.columns - 2 : besideNames
  const isPart = (value: unknown) =>
    isTable(value) || (isObject(value) && !isMoney(value) && JSON.stringify(value).length > room)
  const drawPart = (value: unknown): string[] =>
    isTable(value)
      ? drawPartRows(drawing, value)
      : jsonText(value, 2)
          .split('\n')
          .map((text) => `  ${text}`)
  const shown = entries
    .filter(([, value]) => !isPart(value))
    .flatMap(([name, value]) => {
      const text = textOf(name, value)
      const [first, ...others] = drawing.isWide ? [text] : wrapped(text, room)
      const paint = (line: string) => (drawing.isColoured ? painted(name, line) : line)
      if (isBelow) return [labelOf(name), ...[first!, ...others].map((line) => `  ${paint(line)}`)]
      const padded = labelOf(name) + ' '.repeat(nameWidth - widthOf(labelOf(name)))
      return [`${padded}  ${paint(first!)}`, ...others.map((line) => ' '.repeat(nameWidth + 2) + line)]
    })
  const parts = entries.filter(([, value]) => isPart(value))
  return [...shown, ...parts.flatMap(([name, value]) => ['', labelOf(name), ...drawPart(value)])]
}
