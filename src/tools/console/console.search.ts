/*
 * Searches of the console: words that must all occur, "phrases", fields such as `to:ada`, and terms that must not match
 * (`-draft`). What looks like a field but is none, such as `https://…`, is a word.
 */

const fields = ['from', 'to', 'subject', 'has', 'type', 'method', 'path', 'status', 'is'] as const
type Field = (typeof fields)[number]

/** What is searched of a row: `text` for words, `fields` that its kind has. All in lower case. */
export interface Searched {
  /** epoch ms */
  at: number
  text: string
  fields: Readonly<Partial<Record<Field, string>>>
}

type Matches = (row: Searched) => boolean

const isField = (name: string): name is Field => (fields as readonly string[]).includes(name)

/** Returns the beginning of a local day in epoch ms; NaN if it is none. */
const dayStart = (day: string): number =>
  /^\d{4}-\d{2}-\d{2}$/.test(day) ? new Date(`${day}T00:00`).getTime() : Number.NaN

const matchesOf = (name: string, value: string): Matches | null => {
  const day = dayStart(value)
  if (name === 'before' && !Number.isNaN(day)) return ({ at }) => at < day
  if (name === 'after' && !Number.isNaN(day)) return ({ at }) => at >= day
  if (!isField(name)) return null
  // `4` and `4xx` are all statuses from 400 to 499.
  if (name === 'status') return ({ fields }) => fields.status?.startsWith(value.replaceAll('x', '')) ?? false
  return ({ fields }) => fields[name]?.includes(value) ?? false
}

const termOf = ([whole, minus, name = '', value = '']: RegExpExecArray): Matches => {
  const bare = (text: string) => text.replaceAll('"', '')
  const word = bare(minus ? whole.slice(1) : whole)
  const matches = matchesOf(name, bare(value)) ?? (({ text }: Searched) => text.includes(word))
  return minus ? (row) => !matches(row) : matches
}

/** Returns whether a row matches a search, or null for a search without terms, which every row matches. */
export const parseSearch = (search: string): Matches | null => {
  const terms = [...search.toLowerCase().matchAll(/(-)?(?:(\w+):)?("[^"]*"?|\S+)/g)].map(termOf)
  return terms.length === 0 ? null : (row) => terms.every((matches) => matches(row))
}

/** The syntax, for people: an example and what it finds. */
export const searchSyntax: readonly (readonly [example: string, finds: string])[] = [
  ['annual plan', 'both words, anywhere'],
  ['"annual plan"', 'the phrase'],
  ['-draft', 'without the word; also before a field'],
  ['to:ada subject:order', 'fields of emails; from:, too'],
  ['has:attachment', 'emails with a file'],
  ['type:deal.', 'webhooks by their type'],
  ['method:post path:/deals', 'fields of API calls'],
  ['status:4xx', 'by status; status:404, too'],
  ['is:failed', 'calls with 4xx and 5xx, unverified webhooks'],
  ['after:2026-11-24', 'from this day on; before:, too'],
]
