/** Adds the ISO form of each time to an answer: `createdAtIso` beside `createdAt`. */
export const withIsoTimes = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withIsoTimes)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]) =>
      /(^(at|from|to)|At)$/.test(name) && Number.isSafeInteger(one) && one > 1e11
        ? [
            [name, one],
            [`${name}Iso`, new Date(one).toISOString()],
          ]
        : [[name, withIsoTimes(one)]],
    ),
  )
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === '' ||
  (Array.isArray(value) && value.length === 0) ||
  (isObject(value) && Object.keys(value).length === 0)

const withoutId = (value: unknown): unknown =>
  isObject(value) ? Object.fromEntries(Object.entries(value).filter(([name]) => name !== 'id')) : value

const compactRow = (row: object) =>
  Object.fromEntries(
    Object.entries(row)
      .filter(([name, value]) => name !== 'verification' && !/Ids?$/.test(name) && !isEmpty(value))
      // Users choose the names of fields: a field called id refers to nothing.
      .map(([name, value]) => [name, name === 'fields' ? value : withoutId(value)]),
  )

/** Leaves out of the rows of a list what an overview does not need: verification, ids of other things and empty values. */
export const compact = (answer: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(answer).map(([noun, rows]) => [noun, Array.isArray(rows) ? rows.map(compactRow) : rows]),
  )

/** Returns the hint of a refusal for an agent: with the tool in place of the command, or null if no tool does that. */
export const hintFor = (hint: string, names: ReadonlySet<string>): string | null => {
  if (!/\bsvc\b/.test(hint)) return hint.includes('--') ? null : hint
  const found = hint
    .matchAll(/\bsvc ([a-z-]+) ([a-z-]+)/g)
    .map(([, noun, verb]) => `${noun}_${verb}`)
    .find((name) => names.has(name))
  return found ? `use ${found}` : null
}

/** Shows only the host of a webhook: paths and queries of some are secrets. */
export const maskedUrl = (url: string): string => `${URL.parse(url)?.origin ?? ''}/…`

/** Masks the URLs of all webhooks that the steps of a journey call, those of its sides included. */
export const withMaskedCalls = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withMaskedCalls)
  if (typeof value !== 'object' || value === null) return value
  const isCall = 'kind' in value && value.kind === 'webhook'
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      isCall && name === 'url' && typeof one === 'string' ? maskedUrl(one) : withMaskedCalls(one),
    ]),
  )
}
