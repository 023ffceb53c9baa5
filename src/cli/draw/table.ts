import { createRequire } from 'node:module'
import { painted, type Shown } from './cells.ts'

const require = createRequire(import.meta.url)
const gap = 2
/** Minimum widths of a column whose text wraps: the preferred one, and the one for narrow terminals. */
const leastWidths = [18, 10]
/** cli-table3 gets slow with more rows than this: longer tables are drawn in parts. */
const rowsAtOnce = 1000
const ellipsis = '…'

// Characters of one cell each. Most texts have no others, and loading string-width for those takes 20 ms.
const narrow = /^[\u0020-\u007e\u00a0-\u00ac\u00ae-\u024f\u2010-\u2027\u2500-\u259f]*$/
let measure: ((text: string) => number) | undefined

/** Returns how many terminal cells a text takes: two for East Asian characters and emoji, none for combining marks. */
export const widthOf = (text: string): number => {
  if (narrow.test(text)) return text.length
  measure ??= require('string-width').default as (text: string) => number
  return measure(text)
}

const lettersOf = (text: string): string[] => [...new Intl.Segmenter().segment(text)].map(({ segment }) => segment)

/** Returns a text in exactly `width` cells: cut between letters with an ellipsis, or padded. */
export const fitted = (text: string, width: number): string => {
  let shown = text
  if (widthOf(text) > width) {
    const letters = lettersOf(text)
    while (letters.length > 0 && widthOf(letters.join('')) > width - 1) letters.pop()
    shown = letters.join('') + (width > 0 ? ellipsis : '')
  }
  return shown + ' '.repeat(Math.max(width - widthOf(shown), 0))
}

/** Breaks words longer than `width` cells between letters, since cli-table3 only wraps at spaces. */
const broken = (text: string, width: number): string =>
  text
    .split(' ')
    .map((word) => {
      if (widthOf(word) <= width) return word
      const lines = ['']
      for (const letter of lettersOf(word)) {
        const line = lines.pop()!
        if (widthOf(line + letter) <= width) lines.push(line + letter)
        else {
          // Break after punctuation if that fills at least half of the line.
          const sign = line.search(/[,/@=&?._-][^,/@=&?._-]*$/) + 1
          const end = sign >= line.length / 2 ? sign : line.length
          lines.push(line.slice(0, end), line.slice(end) + letter)
        }
      }
      return lines.join('\n')
    })
    .join(' ')

/** Returns lines of at most `width` cells, broken at spaces or after commas. A longer word stays whole: it may be a URL to copy. */
export const wrapped = (text: string, width: number): string[] => {
  const words = text.split(' ').flatMap((word) => {
    const parts = widthOf(word) > width ? word.split(/(?<=,)/) : [word]
    return parts.map((part, i) => (i === 0 ? ` ${part}` : part))
  })
  const lines = ['']
  for (const word of words) {
    const line = `${lines.at(-1)}${word}`
    if (lines.at(-1) === '' || widthOf(line) <= width)
      lines.splice(-1, 1, lines.at(-1) === '' ? word.trimStart() : line)
    else lines.push(word.trimStart())
  }
  return lines
}

export interface Layout {
  /** The visible columns: index, width, and whether their cells use the short form. */
  shown: readonly { at: number; width: number; isShort: boolean; isNumber: boolean }[]
  /** The headings of the hidden columns. */
  hidden: readonly string[]
  /** Whether ids are shortened. */
  hasShortIds: boolean
}

interface Measured {
  at: number
  heading: string
  /** Widths of the full text and of the short form. */
  natural: number
  short: number
  /** Returns the minimum width of a column that may wrap, for a preferred minimum. */
  least(width: number): number
  kind: 'empty' | 'id' | 'time' | 'number' | 'text'
}

/** Columns that identify a row; they are hidden last. */
const essential = /^(URL|EMAIL|TO|SUBJECT|WEBHOOK|NAME|TITLE|STATUS|TYPE|VALUE|FOUND|FILE)$/

const address = /^(EMAIL|TO)$/

const sum = (widths: readonly number[]) => widths.reduce((total, width) => total + width, 0)

/** Returns widths that fit in `room`, shrinking the widest first but none below its minimum; null if the minimums don't fit. */
const shrink = (natural: readonly number[], least: readonly number[], room: number): number[] | null => {
  if (sum(least) > room) return null
  let cap = Math.min(Math.max(...natural), room)
  const widths = () => natural.map((width, i) => Math.max(least[i]!, Math.min(width, cap)))
  while (sum(widths()) > room) cap--
  return widths()
}

const longestWord = (text: string) => Math.max(...text.split(' ').map(widthOf))

const measureColumns = (
  head: readonly string[],
  rows: readonly (readonly Shown[])[],
  columns: number | null,
): Measured[] =>
  head.map((heading, at) => {
    const cells = rows.map((row) => row[at]!)
    const widest = (pick: (cell: Shown) => string) =>
      cells.reduce((most, cell) => Math.max(most, widthOf(pick(cell))), widthOf(heading))
    const full = cells.filter(({ text }) => text !== '' && text !== '–')
    const kindOf = (): Measured['kind'] => {
      if (full.length === 0) return rows.length > 0 ? 'empty' : 'text'
      if (full.every(({ isNumber }) => isNumber)) return 'number'
      if (full.every(({ short }) => /^…[0-9a-z]{6}$/.test(short))) return 'id'
      return full.every(({ short }) => /^(in )?\d+ (d|h|min|s)( ago)?$|^now$/.test(short)) ? 'time' : 'text'
    }
    const [natural, short, kind] = [widest(({ text }) => text), widest(({ short }) => short), kindOf()]
    const wholeOf = () => {
      // A time wraps before what it is relative to now.
      if (kind === 'time') return widest(({ text }) => text.split(' (')[0]!)
      // An address stays in one piece where it takes a quarter of the terminal or less.
      return Math.max(longestWord(heading), address.test(heading) && columns !== null ? Math.floor(columns / 4) : 0)
    }
    const whole = wholeOf()
    const least = (width: number) => Math.min(natural, Math.max(kind === 'time' ? 0 : width, whole))
    return { at, heading, natural, short, least, kind }
  })

/**
 * Returns which columns fit in a terminal of `columns` cells, and their widths. If space is short: empty columns are hidden,
 * ids are shortened, text wraps, future times become relative, and finally columns are hidden: times first, then from the
 * right those that do not identify a row. The first column always stays. With `columns` null, every column has its natural width.
 */
export const layOut = (
  head: readonly string[],
  rows: readonly (readonly Shown[])[],
  columns: number | null,
  { keepsIds = false } = {},
): Layout => {
  const measured = measureColumns(head, rows, columns)
  let kept = measured
  let [shortIds, shortTimes] = [false, false]
  const isShort = ({ kind }: Measured) => (kind === 'id' && shortIds) || (kind === 'time' && shortTimes)
  const layOf = (least: number | null): Layout | null => {
    const natural = kept.map((column) => (isShort(column) ? column.short : column.natural))
    const room = columns === null ? Number.POSITIVE_INFINITY : columns - gap * (kept.length - 1)
    const needed = kept.map((column, i) => {
      const wraps = column.kind === 'text' || (column.kind === 'time' && !shortTimes)
      return least !== null && wraps ? column.least(least) : natural[i]!
    })
    const widths = shrink(natural, needed, room)
    if (!widths) return null
    const last = kept.length - 1
    // The last column gets the remaining width: later rows may need it.
    if (columns !== null && kept[last]!.kind === 'text') widths[last] = room - sum(widths.slice(0, -1))
    return {
      shown: kept.map((column, i) => ({
        at: column.at,
        width: widths[i]!,
        isShort: isShort(column),
        isNumber: column.kind === 'number',
      })),
      hidden: measured.filter((column) => !kept.includes(column)).map(({ heading }) => heading),
      hasShortIds: shortIds && kept.some((column) => isShort(column) && column.short < column.natural),
    }
  }
  const hide = (column: Measured) => {
    kept = kept.filter((other) => other !== column)
  }

  let layout = layOf(null)
  for (const column of kept.toReversed()) {
    if (layout || column.kind !== 'empty' || column.at === 0) continue
    hide(column)
    layout = layOf(null)
  }
  if (layout) return layout
  shortIds = !keepsIds
  layout = layOf(null) ?? layOf(leastWidths[0]!) ?? layOf(leastWidths[1]!)
  if (layout) return layout
  shortTimes = true
  layout = layOf(leastWidths[1]!)
  while (!layout && kept.length > 1) {
    const others = kept.slice(1)
    const isLesser = ({ heading }: Measured) => !essential.test(heading)
    hide(
      others.findLast((column) => column.kind === 'time' && isLesser(column)) ??
        others.findLast(isLesser) ??
        others.at(-1)!,
    )
    layout = layOf(leastWidths[1]!)
  }
  if (layout) return layout
  // A single column that is too wide may break anywhere.
  const only = { at: kept[0]!.at, width: columns!, isShort: false, isNumber: false }
  return { shown: [only], hidden: head.filter((_, at) => at !== only.at), hasShortIds: false }
}

const none = ['top', 'bottom', 'left', 'right', 'mid'].flatMap((side) =>
  ['', '-mid', '-left', '-right'].map((part) => [`${side}${part}`, '']),
)
const chars = { ...Object.fromEntries(none), middle: ' '.repeat(gap) }

/** Draws a table without borders, as lines. With `isColoured`, status words are coloured; `hasHead` adds the heading. */
export const drawRows = (
  head: readonly string[],
  rows: readonly (readonly Shown[])[],
  { shown }: Layout,
  { isColoured = false, hasHead = true } = {},
): string[] => {
  // Loaded here, since output to a pipe draws no table.
  const Table = require('cli-table3') as typeof import('cli-table3')
  const draw = (part: (string | object)[][]): string[] => {
    const table = new Table({
      chars,
      colWidths: shown.map(({ width }) => width),
      colAligns: shown.map(({ isNumber }) => (isNumber ? 'right' : 'left')),
      style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    })
    table.push(...(part as string[][]))
    // Trailing padding would wrap to blank lines if the window is made smaller.
    return table
      .toString()
      .split('\n')
      .map((line) => line.trimEnd())
  }
  const cellOf = (text: string, width: number, heading?: string) => {
    const isWide = widthOf(text) > width
    const lines = isWide ? broken(text, width) : text
    const content = isColoured && heading !== undefined ? painted(heading, lines) : lines
    return isWide ? { content, wordWrap: true } : content
  }
  const cells = [
    ...(hasHead ? [shown.map(({ at, width }) => cellOf(head[at]!, width))] : []),
    ...rows.map((row) =>
      shown.map(({ at, width, isShort }) => cellOf(isShort ? row[at]!.short : row[at]!.text, width, head[at]!)),
    ),
  ]
  const lines: string[] = []
  for (let from = 0; from < cells.length; from += rowsAtOnce) lines.push(...draw(cells.slice(from, from + rowsAtOnce)))
  return lines
}
