import { styleText } from 'node:util'
import { number } from '../../lib/quantity.ts'
import { printable } from './cells.ts'
import { fitted, widthOf } from './draw.table.ts'

/** What a chart has to fit: cells of a line, colours, and whether the terminal has only ASCII. */
export interface Canvas {
  columns: number
  isColoured: boolean
  isAscii: boolean
}

/** A bar of a chart: its length is `value`. */
interface Bar {
  label: string
  value: number
  /** What is printed for the value; by default the number. */
  text?: string
}

/** A value and its limit, drawn as the filled part of a bar. Without a limit (null) there is no bar. */
interface Gauge extends Bar {
  limit: number | null
}

/** A row of a chart over time: the values of consecutive periods, such as days. */
interface Trend {
  label: string
  values: readonly number[]
  /** What is printed beside the values; by default their sum. */
  text?: string
}

const gap = 2
/** Labels take at most this share of a line; a chart with fewer cells is left out. */
const labelShare = 0.45
const leastChart = 4
/** A value of a sparkline is at most this wide. */
const mostRepeated = 3
/** A gauge is yellow from this share of its limit on, and red at the limit. */
const warnShare = 0.8

const glyphs = {
  blocks: { zero: '·', levels: '▁▂▃▄▅▆▇█', ends: '▏▎▍▌▋▊▉', full: '█', rest: '░' },
  ascii: { zero: '.', levels: ':-=+*#%@', ends: '', full: '#', rest: '-' },
}
const glyphsOf = (isAscii: boolean) => (isAscii ? glyphs.ascii : glyphs.blocks)

/** Whether a terminal has only ASCII: `TERM` is `dumb` or `linux`, whose fonts lack the blocks, or `NO_UNICODE` is set. */
export const isAsciiOnly = ({ NO_UNICODE, TERM }: NodeJS.ProcessEnv): boolean =>
  Boolean(NO_UNICODE) || TERM === 'dumb' || TERM === 'linux'

/** Returns the length of a value in a chart: negative values and values that are no number count as zero. */
const lengthOf = (value: number): number => (Number.isFinite(value) && value > 0 ? value : 0)

const most = (values: readonly number[]): number => values.reduce((max, value) => Math.max(max, lengthOf(value)), 0)

/** Returns the means of `count` runs of consecutive values of nearly equal length. */
const condensed = (values: readonly number[], count: number): number[] =>
  Array.from({ length: count }, (_, at) => {
    const [from, to] = [Math.floor((at * values.length) / count), Math.floor(((at + 1) * values.length) / count)]
    return values.slice(from, to).reduce((sum, value) => sum + lengthOf(value), 0) / (to - from)
  })

/**
 * Returns values as one line of at most `width` cells, from zero to the highest value. Zero has a mark of its own. More values than
 * cells are shown as means of consecutive values; fewer values are up to three cells wide each.
 */
export const sparkline = (values: readonly number[], width: number, isAscii: boolean): string => {
  if (values.length === 0 || width < 1) return ''
  const { zero, levels } = glyphsOf(isAscii)
  const shown = values.length > width ? condensed(values, width) : values.map(lengthOf)
  const highest = most(shown)
  const repeated = Math.min(Math.floor(width / shown.length), mostRepeated)
  return shown
    .map((value) => (value === 0 ? zero : levels[Math.ceil((value / highest) * levels.length) - 1] || levels[0]!))
    .map((mark) => mark.repeat(repeated))
    .join('')
}

/** Returns a bar of exactly `width` cells, of which `fraction` (0 to 1) is filled. */
export const meter = (fraction: number, width: number, isAscii = false): string => {
  const { full, rest } = glyphsOf(isAscii)
  const filled = Math.floor(Math.min(lengthOf(fraction), 1) * width)
  return full.repeat(filled) + rest.repeat(width - filled)
}

/** Returns a bar of at most `width` cells for a fraction of 0 to 1, to an eighth of a cell. Above zero it is never empty. */
const barOf = (fraction: number, width: number, isAscii: boolean): string => {
  const { full, ends } = glyphsOf(isAscii)
  const parts = ends.length + 1
  const length = Math.ceil(Math.min(lengthOf(fraction), 1) * width * parts)
  const end = length % parts
  return full.repeat(Math.floor(length / parts)) + (end > 0 ? ends[end - 1] : '')
}

interface Row {
  label: string
  text: string
  /** Draws the chart of the row in at most `width` cells. */
  draw(width: number): string
}

/** Draws rows as `label  text  chart`, aligned. Labels are cut, and a chart without room is left out, so that every line fits. */
const drawRows = (rows: readonly Row[], columns: number): string[] => {
  const widest = (texts: readonly string[]) => texts.reduce((width, text) => Math.max(width, widthOf(text)), 0)
  const labels = rows.map(({ label }) => printable(label))
  const texts = rows.map(({ text }) => printable(text))
  const textWidth = widest(texts)
  const left = Math.max(columns - textWidth - gap, 0)
  const hasChart = left - Math.min(widest(labels), Math.floor(columns * labelShare)) - gap >= leastChart
  const labelWidth = Math.min(widest(labels), hasChart ? Math.floor(columns * labelShare) : left)
  const width = hasChart ? left - labelWidth - gap : 0
  return rows.map(({ draw }, at) => {
    const head = `${fitted(labels[at]!, labelWidth)}${' '.repeat(gap + textWidth - widthOf(texts[at]!))}${texts[at]}`
    const chart = hasChart ? draw(width) : ''
    return chart ? `${head}${' '.repeat(gap)}${chart}` : fitted(head, Math.min(columns, widthOf(head))).trimEnd()
  })
}

/** Draws horizontal bars as lines: `label  value  bar`. The highest value fills the line. */
export const drawBars = (bars: readonly Bar[], { columns, isAscii }: Canvas): string[] => {
  const highest = most(bars.map(({ value }) => value))
  return drawRows(
    bars.map(({ label, value, text = number(value) }) => ({
      label,
      text,
      draw: (width) => (highest > 0 ? barOf(lengthOf(value) / highest, width, isAscii) : ''),
    })),
    columns,
  )
}

/** Draws values and their limits as lines: `label  value  bar`. The filled part is the share of the limit. */
export const drawGauges = (gauges: readonly Gauge[], { columns, isAscii, isColoured }: Canvas): string[] =>
  drawRows(
    gauges.map(({ label, value, limit, text = number(value) }) => ({
      label,
      text,
      draw: (width) => {
        if (limit === null) return ''
        // Without any allowance the limit is reached.
        const share = limit > 0 ? value / limit : 1
        const bar = meter(share, width, isAscii)
        if (!isColoured || share < warnShare) return bar
        return styleText(share < 1 ? 'yellow' : 'red', bar, { validateStream: false })
      },
    })),
    columns,
  )

/** Draws values over time as lines: `label  sum  sparkline`. Each line has its own scale. */
export const drawTrends = (trends: readonly Trend[], { columns, isAscii }: Canvas): string[] =>
  drawRows(
    trends.map(({ label, values, text = number(values.reduce((sum, value) => sum + value, 0)) }) => ({
      label,
      text,
      draw: (width) => sparkline(values, width, isAscii),
    })),
    columns,
  )
