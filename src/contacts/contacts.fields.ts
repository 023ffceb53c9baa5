import { z } from 'zod'
import { emailMaxLength, normalizeEmail } from '../lib/email.ts'
import { infiniteFault } from '../lib/infinite.ts'
import { invalid } from '../lib/problem.ts'
import { sentence } from '../lib/sentence.ts'
import { isLonger } from '../lib/strings.ts'
import { notBlank, text } from '../lib/text.ts'

export type Fields = Record<string, string>

/** One contact to write: a normalised `email`, and `fields` from `normalizeFields`. */
export interface ContactWrite {
  email: string
  fields: Fields
}

/** Accepts any text, also a malformed address; refuses only empty, too long and non-text values (docs/reference/rules.md#contacts). */
export const EmailInput = z.string().transform(normalizeEmail).pipe(text(emailMaxLength).min(1)).meta({
  pattern: notBlank,
  maxLength: emailMaxLength,
  description: 'The address, at most 320 characters. It is trimmed and lowercased; any text is stored and verified',
})

const nameMaxLength = 100
/** JSON Schema keywords for column names. */
export const columnNames = { pattern: notBlank, maxLength: nameMaxLength }
const valueMaxLength = 10_000

export const maxColumns = 40
export const tooManyColumns = () => invalid(`A list can have at most ${maxColumns} columns`)
/** Maximum names in one write. Some may be ignored values, but no list can have that many columns. */
export const givenNamesMax = 1_000

const refuse = (path: readonly PropertyKey[], message: string) =>
  invalid(sentence([{ code: 'custom', path: [...path], message, input: undefined }], 'fields'))

const isStorable = (value: string) => !value.includes('\0') && value.isWellFormed()

const nameFault = (name: string): string | null => {
  if (name === '') return 'has a field without a name'
  if (isLonger(name, nameMaxLength)) return `has a field name of over ${nameMaxLength} characters`
  if (name === 'email') return 'has a field named email, which is the address itself'
  if (!isStorable(name)) return 'has a field name with characters that are not allowed'
  // Assigning `__proto__` would set an object's prototype. `constructor` and similar names are safe.
  return name === '__proto__' ? 'has a field named __proto__, which is not allowed' : null
}

const valueFault = (value: string): string | null => {
  if (isLonger(value, valueMaxLength)) return 'must be at most 10,000 characters'
  return isStorable(value) ? null : 'must not contain NUL characters or broken Unicode'
}

/** Throws Problem `invalid`, with the path of the value, if the value of column `name` can't be stored. */
export const requireStorable = (value: string, path: readonly PropertyKey[], name: string): void => {
  const fault = valueFault(value)
  if (fault) throw refuse([...path, name], fault)
}

/** Returns the trimmed name. Throws Problem `invalid`. */
const storedName = (given: string, path: readonly PropertyKey[]): string => {
  const name = given.trim()
  const fault = nameFault(name)
  if (fault) throw refuse(path, fault)
  return name
}

/**
 * Returns column values in their stored form: scalars as strings, null as the empty string, nested values left out, names
 * trimmed. `path` is the position of the fields in the input, for errors. `names` is a cache of validated names, to share between
 * rows. `except` is a property to leave out. Throws Problem `invalid`, with the name of the field.
 */
export const normalizeFields = (
  values: Readonly<Record<string, unknown>>,
  path: readonly PropertyKey[] = [],
  { names = new Map<string, string>(), except }: { names?: Map<string, string>; except?: string } = {},
): Fields => {
  const fields: Fields = {}
  for (const givenName in values) {
    const value = values[givenName]
    if (givenName === except || value === undefined || (typeof value === 'object' && value !== null)) continue
    const name = names.getOrInsertComputed(givenName, () => storedName(givenName, path))
    if (names.size > givenNamesMax) throw tooManyColumns()
    const fault = infiniteFault(value)
    if (fault) throw refuse([...path, name], fault)
    const stored = value === null ? '' : String(value)
    requireStorable(stored, path, name)
    fields[name] = stored
  }
  return fields
}

/** Returns one write for each address, in order of first appearance; later values replace earlier ones. */
export const mergeWrites = (writes: Iterable<ContactWrite>): ContactWrite[] => {
  const merged = new Map<string, ContactWrite>()
  for (const write of writes) {
    const earlier = merged.get(write.email)
    merged.set(write.email, earlier ? { email: write.email, fields: { ...earlier.fields, ...write.fields } } : write)
  }
  return [...merged.values()]
}

const suppressionColumns = ['suppression', 'suppression_reason']

/** Returns the heading of the column of an export that says why an address gets no marketing: one that no field of the list has. */
export const suppressionColumn = (fields: readonly string[]): string =>
  suppressionColumns.find((name) => !fields.includes(name)) ?? suppressionColumns[0]!

export const isSuppressionColumn = (heading: string): boolean => suppressionColumns.includes(heading)
