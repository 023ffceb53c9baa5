import { createRequire } from 'node:module'
import { painted } from './cells.ts'

const require = createRequire(import.meta.url)
const gap = 2
/** A column that gives way keeps at least this, or its heading. */
const leastWidth = 10
const ellipsis = '…'

// Letters of one cell each, which most texts are made of: measuring others loads tables of 20 ms.
const narrow = /^[\u0020-\u007e\u00a0-\u00ac\u00ae-\u024f\u2010-\u2027]*$/
let measure: ((text: string) => number) | undefined

/** How many cells of a terminal a text takes: East Asian letters and emoji two, marks none. */
export const widthOf = (text: string): number => {
  if (narrow.test(text)) return text.length
  measure ??= require('string-width').default as (text: string) => number
  return measure(text)
}

/** A text in exactly `width` cells: cut between letters, with an ellipsis, or padded. */
export const fitted = (text: string, width: number): string => {
  let shown = text
  if (widthOf(text) > width) {
    const letters = [...new Intl.Segmenter().segment(text)].map(({ segment }) => segment)
    while (letters.length > 0 && widthOf(letters.join('')) > width - 1) letters.pop()
    shown = letters.join('') + (width > 0 ? ellipsis : '')
  }
  return shown + ' '.repeat(Math.max(width - widthOf(shown), 0))
}

/** An id is copied, a number read to its last digit: cut they are of no use. */
const isWhole = (text: string) => /^([a-z]{2,5}_[0-9a-z]{20,}|[\d.,:-]+|–|)$/.test(text)

export interface Layout {
  /** Which of the columns are shown, by their place, and how wide. */
  shown: readonly { at: number; width: number }[]
  /** The headings of those that had no room. */
  leftOut: readonly string[]
}

/** Widths that give way by how much more each column has than it needs; null where even so they are wider than `room`. */
const shrink = (natural: readonly number[], least: readonly number[], room: number): number[] | null => {
  const sum = (widths: readonly number[]) => widths.reduce((total, width) => total + width, 0)
  if (sum(natural) <= room) return [...natural]
  if (sum(least) > room) return null
  const share = (room - sum(least)) / (sum(natural) - sum(least))
  return natural.map((width, i) => least[i]! + Math.floor((width - least[i]!) * share))
}

/**
 * Which columns a terminal of `columns` cells has room for, and how wide each is. Where texts that are cut do not suffice,
 * columns go: first those that hold nothing, then from the right; the first one stays.
 */
export const layOut = (head: readonly string[], rows: readonly (readonly string[])[], columns: number): Layout => {
  const measured = head.map((heading, at) => {
    const cells = rows.map((row) => row[at]!)
    const natural = Math.max(widthOf(heading), ...cells.map(widthOf))
    const least = cells.every(isWhole) ? natural : Math.min(natural, Math.max(leastWidth, widthOf(heading)))
    return { at, natural, least, isEmpty: rows.length > 0 && cells.every((cell) => cell === '' || cell === '–') }
  })
  let kept = measured
  for (;;) {
    const room = columns - gap * (kept.length - 1)
    const widths = shrink(
      kept.map(({ natural }) => natural),
      kept.map(({ least }) => least),
      room,
    )
    if (widths || kept.length === 1) {
      const used = kept.slice(0, -1).reduce((total, _, i) => total + widths![i]!, 0)
      return {
        // The last one has what is left: whoever comes later may need it.
        shown: kept.map(({ at }, i) => ({ at, width: i < kept.length - 1 ? widths![i]! : room - used })),
        leftOut: measured.filter((column) => !kept.includes(column)).map(({ at }) => head[at]!),
      }
    }
    const last = kept.findLast(({ isEmpty, at }) => isEmpty && at > 0) ?? kept.at(-1)!
    kept = kept.filter((column) => column !== last)
  }
}

const none = ['top', 'bottom', 'left', 'right', 'mid'].flatMap((side) =>
  ['', '-mid', '-left', '-right'].map((part) => [`${side}${part}`, '']),
)
const chars = { ...Object.fromEntries(none), middle: ' '.repeat(gap) }

/** Lines of a table, without borders. Coloured, the status words of a row stand out. */
export const drawRows = (
  head: readonly string[],
  rows: readonly (readonly string[])[],
  { shown }: Layout,
  isColoured: boolean,
): string[] => {
  // Loaded where there is a table to draw, which no pipe has.
  const Table = require('cli-table3') as typeof import('cli-table3')
  const table = new Table({
    chars,
    colWidths: shown.map(({ width }) => width),
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  })
  const draw = (row: readonly string[]) =>
    shown.map(({ at, width }) => {
      const text = fitted(row[at]!, width).trimEnd()
      return isColoured && row !== head ? painted(head[at]!, text) : text
    })
  table.push(...rows.map(draw))
  // Padding of the last column would wrap to blank lines where the window is made smaller.
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
}
