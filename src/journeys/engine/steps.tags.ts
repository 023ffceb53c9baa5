import type { Contact } from '../../contacts/contacts.ts'
import { fillTags as fill } from '../../lib/tags.ts'

/** Returns the value of a contact's field, including `email`; undefined if it is not set. */
export const fieldOf = ({ fields, email }: Contact, name: string): string | undefined => {
  if (Object.hasOwn(fields, name)) return fields[name]
  return name === 'email' ? email : undefined
}

/** Returns a text with its merge tags (`{{ field }}`) filled; unknown fields are empty. */
export const fillTags = (text: string, contact: Contact): string => fill(text, (name) => fieldOf(contact, name))

/** Returns JSON with the merge tags of all string values filled; property names stay. */
export const fillJson = (value: unknown, contact: Contact): unknown => {
  if (typeof value === 'string') return fillTags(value, contact)
  if (Array.isArray(value)) return value.map((item) => fillJson(item, contact))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, fillJson(item, contact)]))
}
