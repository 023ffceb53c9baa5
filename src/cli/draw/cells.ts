import { stripVTControlCharacters, styleText } from 'node:util'
import { atFirstUse } from '../../lib/at-first-use.ts'
import { number } from '../../lib/quantity.ts'

/** An amount of money: `29.00 EUR` for people. In a pipe it is the number, and the currency has its own column. */
export interface Money {
  amount: number
  currency: string
}

/** A Date is relative on a terminal (with date and time if it is in the future), and RFC 3339 in a pipe. */
export type Cell = string | number | boolean | Date | Money | null | undefined

/**
 * A column of a table: heading, cell of a row, and where it is shown: only in a pipe, only on a terminal, or everywhere but on a
 * terminal without --wide.
 */
export type Column<Row> = readonly [heading: string, cell: (row: Row) => Cell, only?: 'pipe' | 'terminal' | 'wide']

// Stored text is untrusted: it must not move the cursor, colour the terminal, or change the direction of the text after it
// (bidi overrides and isolates). Line ends become spaces.
export const printable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: taking control characters out is the purpose
  stripVTControlCharacters(text).replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]+/g, ' ')

/** Returns text of several lines with our own colours, without any other control characters. */
export const harmless = (text: string): string =>
  text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: taking control characters out is the purpose
    /(\u001b\[[\d;]*m|\n|\t)|[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
    (_, ours: string | undefined) => ours ?? '',
  )

const units: [seconds: number, name: string][] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
]

/** Returns a duration in one or two units: `2 d`, `3 h 20 min`. */
export const span = (ms: number): string => {
  const seconds = Math.round(Math.abs(ms) / 1000)
  const at = units.findIndex(([size]) => seconds >= size)
  if (at < 0) return '0 s'
  const [[size, name], next] = [units[at]!, units[at + 1]]
  const rest = next ? Math.floor((seconds % size) / next[0]) : 0
  return `${Math.floor(seconds / size)} ${name}${rest > 0 ? ` ${rest} ${next![1]}` : ''}`
}

/** Returns `3 min ago`, `in 2 h` or `now`. The parameter `now` is in epoch ms. */
export const relative = (time: Date, now: number): string => {
  const seconds = Math.round((now - time.getTime()) / 1000)
  // Rounded first: 59 min 40 s are 1 h, not 60 min.
  const unit = units.find(([size], at) => {
    const [smaller] = units[at + 1] ?? [1]
    return Math.round(Math.abs(seconds) / smaller) * smaller >= size
  })
  if (!unit) return 'now'
  const amount = `${Math.round(Math.abs(seconds) / unit[0])} ${unit[1]}`
  return seconds > 0 ? `${amount} ago` : `in ${amount}`
}

const absoluteFormat = atFirstUse(
  () =>
    new Intl.DateTimeFormat('en-GB', {
      weekday: 'short',
      day: 'numeric',
      month: 'short',
      year: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    }),
)

/** Returns `Mon 23 Nov 14:00` in the terminal's zone, with the year if it differs from the current one. */
const absolute = (time: Date, now: number): string => {
  const { weekday, day, month, year, hour, minute } = Object.fromEntries(
    absoluteFormat()
      .formatToParts(time)
      .map(({ type, value }) => [type, value]),
  )
  const isThisYear = time.getFullYear() === new Date(now).getFullYear()
  return `${weekday} ${day} ${month}${isThisYear ? '' : ` ${year}`} ${hour}:${minute}`
}

/** Returns `Mon 23 Nov 14:00 (in 16 h)`. */
export const moment = (time: Date, now: number): string => {
  if (Number.isNaN(time.getTime())) return '–'
  return `${absolute(time, now)} (${relative(time, now)})`
}

/** Returns `29.00 EUR`. */
export const moneyText = ({ amount, currency }: Money): string =>
  `${amount.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })} ${printable(currency)}`

/** Returns `Harbour <hello@shop.example>`. */
export const mailboxText = ({ email, name }: Readonly<Record<'email' | 'name', string>>): string =>
  name === '' ? email : `${name} <${email}>`

/** Returns a cell for a pipe. */
export const plainText = (cell: Cell): string => {
  if (cell === null || cell === undefined) return ''
  if (cell instanceof Date) return cell.toISOString()
  return printable(String(typeof cell === 'object' ? cell.amount : cell))
}

/** A cell for people: its full text, and the short form for narrow terminals. */
export interface Shown {
  text: string
  short: string
  isNumber: boolean
}

/** An id, with or without a kind before it: `course:crs_…`. */
export const idPattern = /^([a-z]+:)?[a-z]{2,5}_[0-9a-z]{20,}$/
/** A shortened id keeps this many characters of its end: ids of the same moment begin alike. */
const idEnd = 6

const shortIdOf = (text: string): string => {
  const [whole, kind = ''] = idPattern.exec(text) ?? []
  return whole ? `${kind}…${text.slice(-idEnd)}` : text
}

/** Returns a cell for people. A past time is only relative, unless `isExact`. */
export const shownText = (cell: Cell, now: number, isExact = false): Shown => {
  const same = (text: string, isNumber = false): Shown => ({ text, short: text, isNumber })
  if (cell === null || cell === undefined) return same('–')
  if (cell instanceof Date) {
    const short = Number.isNaN(cell.getTime()) ? '–' : relative(cell, now)
    return { text: isExact || cell.getTime() > now ? moment(cell, now) : short, short, isNumber: false }
  }
  if (typeof cell === 'object') return same(moneyText(cell), true)
  if (typeof cell === 'number') return same(number(cell), true)
  if (typeof cell === 'boolean') return same(cell ? 'yes' : 'no')
  const text = printable(String(cell))
  return { text, short: shortIdOf(text), isNumber: false }
}

/** Returns JSON that is safe on a terminal: control characters and bidi overrides, which JSON allows, are escaped. */
export const jsonText = (value: unknown, indent = 0): string =>
  JSON.stringify(value, null, indent).replace(
    /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** Returns a property as a cell. Its name identifies times (`createdAt`, `oldSecretUntil`, `at`); nested values become JSON. */
export const cellOf = (name: string, value: unknown): Cell => {
  if (typeof value === 'number' && /(^a|A)t$|(^u|U)ntil$/.test(name)) return new Date(value)
  return typeof value === 'object' && value !== null && !(value instanceof Date)
    ? JSON.stringify(value)
    : (value as Cell)
}

/** Returns the heading of a property: `CREATED AT` for `createdAt`. */
export const headingOf = (property: string): string => property.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toUpperCase()

type CellName<Row> = {
  [Name in keyof Row & string]: Row[Name] extends Exclude<Cell, Money> ? Name : never
}[keyof Row & string]

/** Returns columns of properties that are headed by their names: `CREATED` for `createdAt`, `LIST` for `listId`. */
export const properties = <Row>(...names: readonly CellName<Row>[]): Column<Row>[] =>
  names.map((name) => [headingOf(name.replace(/(?<=.)(At|Id)$/, '')), (row) => cellOf(name, row[name])])

const tones = {
  green: 'active completed confirmed created delivered done live ok open paid published sent valid verified won',
  yellow: 'ending pending queued risky running scheduled sending waiting waitlisted warn',
  red: 'disabled exhausted expired fail failed invalid lost rejected suppressed',
  gray: 'cancelled ended exited revoked unchanged unknown',
} as const

const toneOf = new Map(
  Object.entries(tones).flatMap(([tone, words]) => words.split(' ').map((word) => [word, tone as keyof typeof tones])),
)

/** Colours a status word; `name` is its heading or property. `text` may be padded. */
export const painted = (name: string, text: string): string => {
  const tone = /^(status|verdict|outcome|last ?status)$/i.test(name) ? toneOf.get(text.trim()) : undefined
  return tone ? styleText(tone, text, { validateStream: false }) : text
}
