import { stripVTControlCharacters, styleText } from 'node:util'

/** A Date is shown relative on a terminal, RFC 3339 in a pipe. */
export type Cell = string | number | boolean | Date | null | undefined

// Stored text comes from strangers: none of it may move the cursor or colour the terminal. Line ends become blanks.
export const printable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: taking control characters out is the purpose
  stripVTControlCharacters(text).replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ')

const units: [seconds: number, name: string][] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
]

/** `3 min ago`, `in 2 h`, `now`; `now` in epoch ms. */
export const relative = (time: Date, now: number): string => {
  const seconds = Math.round((now - time.getTime()) / 1000)
  const unit = units.find(([size]) => Math.abs(seconds) >= size)
  if (!unit) return 'now'
  const amount = `${Math.floor(Math.abs(seconds) / unit[0])} ${unit[1]}`
  return seconds > 0 ? `${amount} ago` : `in ${amount}`
}

/** For a person, with the time that it is (epoch ms), or null: for a pipe. */
export const cellText = (cell: Cell, now: number | null): string => {
  if (cell === null || cell === undefined) return now === null ? '' : '–'
  if (cell instanceof Date) return now === null ? cell.toISOString() : relative(cell, now)
  return printable(String(cell))
}

/** JSON whose text a terminal can be given: the control characters that JSON lets pass are escaped. */
export const jsonText = (value: unknown, indent = 0): string =>
  JSON.stringify(value, null, indent).replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** A property as a cell: times by their name (`createdAt`, `at`), what is nested as JSON. */
export const cellOf = (name: string, value: unknown): Cell => {
  if (typeof value === 'number' && /(^a|A)t$/.test(name)) return new Date(value)
  return typeof value === 'object' && value !== null && !(value instanceof Date)
    ? JSON.stringify(value)
    : (value as Cell)
}

/** `createdAt` as the heading `CREATED AT`. */
export const headingOf = (property: string): string => property.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toUpperCase()

const tones = {
  green: 'active completed confirmed created delivered done live ok open paid published sent valid verified won',
  yellow: 'ending pending queued risky running scheduled sending waiting waitlisted warn',
  red: 'disabled exhausted expired fail failed invalid lost rejected suppressed',
  gray: 'cancelled ended exited revoked unchanged unknown',
} as const

const toneOf = new Map(
  Object.entries(tones).flatMap(([tone, words]) => words.split(' ').map((word) => [word, tone as keyof typeof tones])),
)

/** Colours a status word; `name` is the heading or property that it stands under. `text` may be padded. */
export const painted = (name: string, text: string): string => {
  const tone = /^(status|verdict|outcome|last ?status)$/i.test(name) ? toneOf.get(text.trim()) : undefined
  return tone ? styleText(tone, text, { validateStream: false }) : text
}
