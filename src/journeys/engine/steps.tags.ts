import type { Contact } from '../../contacts/contacts.ts'
import { fillTags as fill } from '../../lib/tags.ts'
import type { RunContext, RunData } from './steps.types.ts'

/** The fields of a run: of its contact, and of the data that its trigger gave. */
export interface TagSource {
  contact: Contact
  context: RunContext
}

/** Returns the data of a run's trigger, which is empty if it gave none. */
export const dataOf = ({ data }: RunContext): RunData => (data as RunData | undefined) ?? {}

/** Returns the value of a field: of the trigger's data, else of the contact, including `email`. It is undefined if it is not set. */
export const fieldOf = ({ contact: { fields, email }, context }: TagSource, name: string): string | undefined => {
  const data = dataOf(context)
  if (Object.hasOwn(data, name)) return data[name]
  if (Object.hasOwn(fields, name)) return fields[name]
  return name === 'email' ? email : undefined
}

/** Returns a text with its merge tags (`{{ field }}`) filled; unknown fields are empty. */
export const fillTags = (text: string, source: TagSource): string => fill(text, (name) => fieldOf(source, name))

/** Returns JSON with the merge tags of all string values filled; property names stay. */
export const fillJson = (value: unknown, source: TagSource): unknown => {
  if (typeof value === 'string') return fillTags(value, source)
  if (Array.isArray(value)) return value.map((item) => fillJson(item, source))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, fillJson(item, source)]))
}
