const maxText = 16 * 1024
const maxString = 1000
const maxItems = 20
const maxValues = 2000
const maxDepth = 10
/** A longer JSON text is not parsed. */
const maxParsed = 512 * 1024

const secretName = /^(authorization|.*(secret|password|passphrase|token|api[_-]?key))$/i
const secretText = /\b(svc_[a-z]+_|whsec_|[sr]k_(?:live|test)_|Bearer )[\w.~-]+/g
const urlPart = /([/=])([\w.~-]+)/g
/** A part of a URL that is longer than any id may be a token. */
const maxShownPart = 40

const hidden = '…'

/** Replaces keys, secrets and tokens inside a text. */
export const maskText = (text: string): string =>
  text
    .replace(secretText, `$1${hidden}`)
    .replace(urlPart, (part, before: string, shown: string) => (shown.length > maxShownPart ? before + hidden : part))

const shortText = (text: string): string => {
  const cut = text.length > maxString ? text.slice(0, maxString) : text
  return cut === text ? maskText(text) : `${maskText(cut)}… (${text.length} characters)`
}

/** Returns a copy to show: secrets masked by their name or form, long texts and lists cut. `left` limits its values. */
const copyOf = (value: unknown, depth: number, left: { values: number }): unknown => {
  if (typeof value === 'string') return shortText(value)
  if (typeof value !== 'object' || value === null) return value
  if (ArrayBuffer.isView(value)) return `(${value.byteLength} bytes)`
  if (depth === maxDepth) return hidden
  const isShown = () => left.values-- > 0
  if (Array.isArray(value)) {
    const shown = value.slice(0, maxItems).filter(isShown)
    const rest = value.length - shown.length
    return [...shown.map((item) => copyOf(item, depth + 1, left)), ...(rest > 0 ? [`… ${rest} more`] : [])]
  }
  const entries = Object.entries(value).filter(isShown)
  return Object.fromEntries(
    entries.map(([name, inner]) => [
      name,
      secretName.test(name) && inner !== null ? hidden : copyOf(inner, depth + 1, left),
    ]),
  )
}

/** Returns a JSON value as an indented text of at most 16 Ki characters, without keys, secrets and tokens. */
export const shownJson = (value: unknown): string => {
  const text = JSON.stringify(copyOf(value, 0, { values: maxValues }), null, 2)
  return text.length > maxText ? `${text.slice(0, maxText)}\n… (cut)` : text
}

/** The same for a JSON text. */
export const shownJsonText = (text: string): string => {
  if (text.length > maxParsed) return `(${text.length} characters)`
  try {
    return shownJson(JSON.parse(text))
  } catch {
    return '(not JSON)'
  }
}

/** Returns a query to read, without the values of secrets. */
export const shownQuery = (query: string): string => {
  const pairs = Array.from(new URLSearchParams(query), ([name, value]) => {
    return `${name}=${secretName.test(name) ? hidden : maskText(`=${value}`).slice(1)}`
  })
  return pairs.length === 0 ? '' : `?${pairs.join('&').slice(0, 300)}`
}

type Fields = Readonly<Record<string, unknown>>

const fieldsOf = (value: unknown, name: string): Fields => {
  const inner = (value as Fields | null)?.[name]
  return typeof inner === 'object' && inner !== null ? (inner as Fields) : {}
}

const textOf = (value: unknown): string[] =>
  typeof value === 'string' && value.trim() !== '' ? [value.trim().slice(0, 200)] : []

const moneyOf = ({ amount, value, currency }: Fields): string[] => {
  const sum = amount ?? value
  return typeof sum === 'number' && typeof currency === 'string'
    ? [`${sum.toLocaleString('en-US')} ${currency.slice(0, 10)}`]
    : []
}

/** Returns an answer such as `vote: Red`. One without a single value, such as that of a form, is only named by its kind. */
const answerOf = ({ kind, value }: Fields): string[] =>
  textOf(kind).map((name) =>
    ['string', 'number'].includes(typeof value) ? `${name}: ${maskText(String(value)).slice(0, 80)}` : name,
  )

/**
 * Returns what an event is about, most telling first: a deal's title, its stage, a person's address. It reads the properties
 * that events have (docs/reference/events.md#payloads); a delivery of another shape has no subject.
 */
export const subjectOf = (body: unknown): string => {
  const data = fieldsOf(body, 'data')
  const [deal, booking, purchase, contact] = ['deal', 'booking', 'purchase', 'contact'].map((name) =>
    fieldsOf(data, name),
  )
  const changed = Array.isArray(data.changed) ? data.changed.filter((name) => typeof name === 'string') : []
  const parts = [
    ...textOf(deal!.title),
    ...textOf(deal!.stage),
    ...moneyOf(deal!),
    ...textOf(booking!.title),
    ...moneyOf(purchase!),
    ...answerOf(fieldsOf(data, 'interaction')),
    ...textOf(fieldsOf(data, 'form').name),
    ...textOf(fieldsOf(data, 'journey').name),
    ...[contact!, deal!, fieldsOf(booking, 'attendee'), fieldsOf(data, 'recipient')].flatMap(({ email }) =>
      textOf(email),
    ),
    ...(String((body as Fields | null)?.type).startsWith('contact.') ? textOf(contact!.listName) : []),
    ...changed.slice(0, 3).map((name) => `${name.slice(0, 40)} changed`),
  ]
  return parts.join(' · ')
}
