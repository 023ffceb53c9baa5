import { createRequire } from 'node:module'
import { painted, type Shown } from './cells.ts'

const require = createRequire(import.meta.url)
const gap = 2
/** Minimum widths of columns that wrap: of texts in cells, and of addresses as a share of the terminal's width. */
const whole = { text: 18, address: 0.4 }
const preferred = { text: 18, address: 0.3 }
const narrow = { text: 10, address: 0.3 }
/** Leaves room for the dates of future times. */
const narrowest = { text: 10, address: 0.2 }
type Minimum = typeof preferred
/** cli-table3 gets slow with more rows than this: longer tables are drawn in parts. */
const rowsAtOnce = 1000
const ellipsis = '…'

// Characters of one cell each. Most texts have no others, and loading string-width for those takes 20 ms.
const oneCellEach = /^[\u0020-\u007e\u00a0-\u00ac\u00ae-\u024f\u2010-\u2027\u2500-\u259f]*$/
let measure: ((text: string) => number) | undefined

/** Returns how many terminal cells a text takes: two for East Asian characters and emoji, none for combining marks. */
export const widthOf = (text: string): number => {
  if (oneCellEach.test(text)) return text.length
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

/** Returns lines of at most `width` cells; words that are longer are broken. */
const folded = (text: string, width: number): string[] =>
  wrapped(text, width).flatMap((line) => (widthOf(line) > width ? broken(line, width).split('\n') : line))

interface ShownColumn {
  at: number
  width: number
  /** Whether its cells use the short form. */
  isShort: boolean
  kind: Measured['kind']
}

export interface Layout {
  shown: readonly ShownColumn[]
  /** The columns whose texts are on lines of their own, below their row. */
  below: readonly number[]
  /** The headings of the hidden columns. */
  hidden: readonly string[]
  hasShortIds: boolean
}

interface Measured {
  at: number
  heading: string
  /** Widths of the full text and of the short form. */
  natural: number
  short: number
  /** Returns the minimum width of a column that may wrap. */
  least(minimum: Minimum): number
  kind: 'empty' | 'id' | 'time' | 'number' | 'text'
}

/** Columns that identify a row; they are hidden last. */
const essential = /^(URL|EMAIL|TO|SUBJECT|WEBHOOK|NAME|TITLE|STATUS|TYPE|VALUE|FOUND|FILE|START|SCHEDULED)$/

const address = /^(EMAIL|TO)$/

/** These columns have texts to read or to copy. Where they would wrap, they get lines of their own. */
const wholeTexts = /^(REASON|ERROR|LAST ERROR|LAST FAULT|FILE|URL|VALUE)$/

/** Columns whose texts are not cut: what to do, and what was chosen. */
const uncutTexts = /^(FOUND|EVENTS|DATA)$/

/** Columns whose texts need no heading on a line of their own. */
const plainTexts = /^(FILE|URL)$/

/** Enumerated values, also in lists, and masked keys: they are not broken. */
const enumerated = /^([a-z]+([_.-][a-z]+)*,?|[^\s…]+…[^\s…]+)$/
/** Longer words may be broken, and texts up to this width are short. */
const wordWidth = 24

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

const longestEnumerated = (text: string) =>
  Math.max(0, ...text.split(' ').map((word) => (word.length <= wordWidth && enumerated.test(word) ? word.length : 0)))

const isIdText = ({ short }: Shown) => /^([a-z]+:)?…[0-9a-z]{6}$/.test(short)

/** Returns a future time without its distance from now. */
const withoutRelative = (text: string): string => text.split(' (')[0]!

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
      // Some actors are keys, others are names.
      if (full.some(isIdText) && full.every((cell) => isIdText(cell) || /^\S{1,20}$/.test(cell.text))) return 'id'
      return full.every(({ short }) => /^(in )?\d+ (d|h|min|s)( ago)?$|^now$/.test(short)) ? 'time' : 'text'
    }
    const [natural, short, kind] = [widest(({ text }) => text), widest(({ short }) => short), kindOf()]
    const words = Math.max(longestWord(heading), ...cells.map(({ text }) => longestEnumerated(text)))
    const least = (minimum: Minimum): number => {
      if (kind === 'time')
        return Math.min(
          natural,
          widest(({ text }) => withoutRelative(text)),
        )
      const ofAddress = address.test(heading) && columns !== null ? Math.floor(columns * minimum.address) : 0
      return Math.min(natural, Math.max(minimum.text, words, ofAddress))
    }
    return { at, heading, natural, short, least, kind }
  })

/**
 * Returns which columns fit in a terminal of `columns` cells, and their widths. If space is short: empty columns are hidden,
 * ids are shortened, texts to read or copy get lines of their own, other text wraps, times are hidden if addresses of usual
 * length then stay whole, future times lose their distance from now, then become relative, and finally columns are hidden:
 * times first, then from the right those that do not identify a row. The first column always stays. With `columns` null, every
 * column has its natural width.
 */
export const layOut = (
  head: readonly string[],
  rows: readonly (readonly Shown[])[],
  columns: number | null,
  { keepsIds = false } = {},
): Layout => {
  const measured = measureColumns(head, rows, columns)
  let kept = measured
  let below: readonly Measured[] = []
  let [shortIds, shortTimes] = [false, false]
  const isShort = ({ kind }: Measured) => (kind === 'id' && shortIds) || (kind === 'time' && shortTimes)
  const layOf = (least: Minimum | null): Layout | null => {
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
        kind: column.kind,
      })),
      below: below.map(({ at }) => at),
      hidden: measured
        .filter((column) => !kept.includes(column) && !below.includes(column))
        .map(({ heading }) => heading),
      hasShortIds: shortIds && kept.some((column) => isShort(column) && column.short < column.natural),
    }
  }
  const hide = (column: Measured) => {
    kept = kept.filter((other) => other !== column)
  }

  const isLesser = ({ heading }: Measured) => !essential.test(heading)
  /** Returns a layout in which addresses of usual length are whole, since times are hidden. */
  const withoutTimes = (): Layout | null => {
    const all = kept
    const addresses = all.filter(({ heading }) => address.test(heading))
    const areUsual = addresses.every(({ natural }) => natural <= columns! * whole.address)
    let found: Layout | null = null
    for (const time of addresses.length > 0 && areUsual ? all.toReversed() : []) {
      if (found || time.kind !== 'time' || time.at === 0 || !isLesser(time)) continue
      hide(time)
      found = layOf(whole)
    }
    if (!found) kept = all
    return found
  }

  let layout = layOf(null)
  for (const column of kept.toReversed()) {
    if (layout || column.kind !== 'empty' || column.at === 0) continue
    hide(column)
    layout = layOf(null)
  }
  if (layout) return layout
  shortIds = !keepsIds
  layout = layOf(null)
  if (layout) return layout
  if (!keepsIds) {
    below = kept.filter(
      ({ at, heading, kind, natural }) => at > 0 && kind === 'text' && natural > wordWidth && wholeTexts.test(heading),
    )
    kept = kept.filter((column) => !below.includes(column))
  }
  layout = layOf(null) ?? layOf(whole) ?? withoutTimes() ?? layOf(preferred) ?? layOf(narrow)
  const isFuture = ({ kind, natural, short }: Measured) => kind === 'time' && natural > short
  if (!layout && kept.some(isFuture)) layout = layOf(narrowest)
  if (layout) return layout
  shortTimes = true
  layout = layOf(narrow)
  while (!layout && kept.length > 1) {
    const others = kept.slice(1)
    hide(
      others.findLast((column) => column.kind === 'time' && isLesser(column)) ??
        others.findLast(isLesser) ??
        others.at(-1)!,
    )
    layout = layOf(narrow)
  }
  if (layout) return layout
  // A single column that is too wide may break anywhere.
  const only = { at: kept[0]!.at, width: columns!, isShort: false, kind: 'text' } as const
  return { shown: [only], below: [], hidden: head.filter((_, at) => at !== only.at), hasShortIds: false }
}

const none = ['top', 'bottom', 'left', 'right', 'mid'].flatMap((side) =>
  ['', '-mid', '-left', '-right'].map((part) => [`${side}${part}`, '']),
)
const chars = { ...Object.fromEntries(none), middle: ' '.repeat(gap) }

interface DrawingRows {
  isColoured?: boolean
  hasHead?: boolean
  /** Texts of more lines are cut. Without it, no text is. */
  maxLines?: number
  /** Cells of the terminal's line, for texts below their row. */
  columns?: number
}

/** Draws a table without borders. With `isColoured`, status words are coloured. `hasCut` says whether a text was cut. */
export const drawRows = (
  head: readonly string[],
  rows: readonly (readonly Shown[])[],
  { shown, below }: Layout,
  { isColoured = false, hasHead = true, maxLines, columns = 0 }: DrawingRows = {},
): { lines: string[]; hasCut: boolean } => {
  // Loaded here, since output to a pipe draws no table.
  const Table = require('cli-table3') as typeof import('cli-table3')
  let hasCut = false
  const draw = (part: string[][]): string[] => {
    if (part.length === 0) return []
    const table = new Table({
      chars,
      colWidths: shown.map(({ width }) => width),
      colAligns: shown.map(({ kind }) => (kind === 'number' ? 'right' : 'left')),
      style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    })
    table.push(...part)
    // Trailing padding would wrap to blank lines if the window is made smaller.
    return table
      .toString()
      .split('\n')
      .map((line) => line.trimEnd())
  }
  const linesOf = ({ width, kind, isShort, at }: ShownColumn, row: readonly Shown[]): string[] => {
    const { text, short } = row[at]!
    const whole = isShort ? short : text
    if (widthOf(whole) <= width) return [whole]
    return kind === 'time' ? [withoutRelative(whole)] : folded(whole, width)
  }
  const cut = (lines: readonly string[], count: number, width: number): string[] => {
    if (lines.length <= count) return [...lines]
    hasCut = true
    return [...lines.slice(0, count - 1), fitted(`${lines[count - 1]}${ellipsis}`, width).trimEnd()]
  }
  const cellsOf = (row: readonly Shown[]) => {
    const cells = shown.map((column) => linesOf(column, row))
    // A text without spaces, such as an address, can't be read without its end. Others fill the lines that it takes.
    const isWhole = ({ at }: ShownColumn) =>
      maxLines === undefined || uncutTexts.test(head[at]!) || !row[at]!.text.includes(' ')
    const count = Math.max(maxLines ?? 0, ...cells.map((lines, i) => (isWhole(shown[i]!) ? lines.length : 0)))
    return shown.map((column, i) => {
      const lines = isWhole(column) ? cells[i]! : cut(cells[i]!, count, column.width)
      return isColoured ? painted(head[column.at]!, lines.join('\n')) : lines.join('\n')
    })
  }
  const indent = shown.length > 1 ? shown[0]!.width + gap : 0
  const belowOf = (row: readonly Shown[]) =>
    below
      .filter((at) => !['', '–'].includes(row[at]!.text))
      .flatMap((at) => {
        const label = plainTexts.test(head[at]!) ? '' : `${head[at]}: `
        return folded(`${label}${row[at]!.text}`, columns - indent)
      })
      .map((line) => ' '.repeat(indent) + line)
  const lines: string[] = []
  let part: string[][] = hasHead ? [shown.map((column) => folded(head[column.at]!, column.width).join('\n'))] : []
  for (const row of rows) {
    part.push(cellsOf(row))
    const own = belowOf(row)
    if (own.length === 0 && part.length < rowsAtOnce) continue
    lines.push(...draw(part), ...own)
    part = []
  }
  return { lines: [...lines, ...draw(part)], hasCut }
}
