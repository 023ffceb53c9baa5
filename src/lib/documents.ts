import { parseAllDocuments } from 'yaml'
import { invalid } from './problem.ts'

/** A reader of a file for `readDocuments` may stop after this size. */
export const maxFileBytes = 1024 * 1024
const maxDepth = 64

/** Rejects values that contain themselves through an alias: code that walks them would not terminate. */
const faultOf = (value: unknown, above: readonly unknown[] = []): string | null => {
  if (typeof value !== 'object' || value === null) return null
  if (above.includes(value)) return 'an alias refers to a value that contains it'
  if (above.length >= maxDepth) return `values are nested more than ${maxDepth} deep`
  if (Object.hasOwn(value, '__proto__')) return "a property can't be named __proto__"
  for (const inner of Object.values(value)) {
    const fault = faultOf(inner, [...above, value])
    if (fault) return fault
  }
  return null
}

const refuse = (document: number, faults: readonly string[]) =>
  invalid(`The file can't be read: ${faults.map((fault) => `document ${document + 1}: ${fault}`).join('; ')}`)

/**
 * Parses the documents of a YAML or JSON text of at most 1 MB. Throws Problem `invalid` for malformed YAML, duplicate
 * properties and excessive use of aliases.
 */
export const readDocuments = (source: string): unknown[] => {
  if (Buffer.byteLength(source) > maxFileBytes) throw invalid('The file is larger than 1 MB')
  const documents = parseAllDocuments(source, { stringKeys: true, resolveKnownTags: false, logLevel: 'silent' })
  if (documents.length === 0) throw invalid('The file is empty')
  return Array.from(documents, (document, i) => {
    const marks = [...document.errors, ...document.warnings]
    if (marks.length > 0)
      throw refuse(
        i,
        marks.slice(0, 5).map(({ message }) => message.split('\n')[0]!.replace(/:$/, '')),
      )
    let value: unknown
    try {
      value = document.toJS({ maxAliasCount: 100 })
    } catch (error) {
      throw refuse(i, [(error as Error).message])
    }
    const fault = faultOf(value)
    if (fault) throw refuse(i, [fault])
    return value
  })
}
