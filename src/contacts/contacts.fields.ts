import { z } from 'zod'
import { emailMaxLength, normalizeEmail } from '../lib/email.ts'
import { invalid } from '../lib/problem.ts'
import { sentence } from '../lib/sentence.ts'
import { notBlank, text } from '../lib/text.ts'

export type Fields = Record<string, string>

/** One contact to write: `email` in its normalised form, `fields` as `normalizeFields` gives them. */
export interface ContactWrite {
  email: string
  fields: Fields
}

/** Any text is kept and judged; only what is empty, too long or no text at all is refused (decisions.md, Contacts). */
export const EmailInput = z
  .string()
  .transform(normalizeEmail)
  .pipe(text(emailMaxLength).min(1))
  .meta({ pattern: notBlank, maxLength: emailMaxLength, description: 'Any text is kept and judged' })

const printable = /^[\x21-\x7e]+$/

/** What `EmailInput` makes of an object's address where it is plain ASCII; null: it has to be looked at closer. */
export const plainEmailOf = (item: unknown): string | null => {
  const email = typeof item === 'object' && item !== null && 'email' in item ? item.email : null
  if (typeof email !== 'string' || email.length > emailMaxLength || !printable.test(email)) return null
  return email.toLowerCase()
}

const nameMaxLength = 100
/** How a schema says what a column may be called. */
export const columnNames = { pattern: notBlank, maxLength: nameMaxLength }
const valueMaxLength = 10_000

const refuse = (path: readonly PropertyKey[], message: string) =>
  invalid(sentence([{ code: 'custom', path: [...path], message, input: undefined }], 'fields'))

const isStorable = (value: string) => !value.includes('\0') && value.isWellFormed()

const nameFault = (name: string): string | null => {
  if (name === '') return 'has a field without a name'
  if (name.length > nameMaxLength) return `has a field name of over ${nameMaxLength} characters`
  if (!isStorable(name)) return 'has a field name with characters that are not allowed'
  // It alone would set the prototype of what holds it; `constructor` and the like are names as any other.
  return name === '__proto__' ? 'has a field name that is not allowed' : null
}

const valueFault = (value: string): string | null => {
  if (value.length > valueMaxLength) return 'must be at most 10,000 characters'
  return isStorable(value) ? null : 'must not contain NUL characters or broken Unicode'
}

/** Throws Problem `invalid` naming the value, of the column `name` in the fields at `path`, that can't be stored. */
export const demandStorable = (value: string, path: readonly PropertyKey[], name: string): void => {
  const fault = valueFault(value)
  if (fault) throw refuse([...path, name], fault)
}

/** The name as it is stored: trimmed. Throws Problem `invalid`. */
const storedName = (given: string, path: readonly PropertyKey[]): string => {
  const name = given.trim()
  const fault = nameFault(name)
  if (fault) throw refuse(path, fault)
  return name
}

/**
 * Column values as they are stored: scalars as strings, null as the empty string, nested values ignored, names trimmed.
 * `path` names the place of the fields in the input, `names` keeps the names that were judged, for who has many rows; a property
 * `except` is no column. Throws Problem `invalid` naming the field.
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
    const stored = value === null ? '' : String(value)
    demandStorable(stored, path, name)
    fields[name] = stored
  }
  return fields
}

/** One write for each address, in order of first appearance; later fields win over earlier ones. */
export const mergeWrites = (writes: Iterable<ContactWrite>): ContactWrite[] => {
  const merged = new Map<string, ContactWrite>()
  for (const write of writes) {
    const earlier = merged.get(write.email)
    merged.set(write.email, earlier ? { email: write.email, fields: { ...earlier.fields, ...write.fields } } : write)
  }
  return [...merged.values()]
}
