import { z } from 'zod'
import { invalid } from './problem.ts'
import { sentence } from './sentence.ts'

/** A place in a file that an author wrote. */
export type Path = readonly (string | number)[]

/** An error at a place in a file. A message that starts with a verb (`must …`, `is …`, `has …`) follows the place without a colon. */
export interface Fault {
  path: Path
  message: string
  /** A next step for the terminal. */
  hint?: string | undefined
}

/** Returns the value if it is an object but not an array, else null. */
export const recordOf = (value: unknown): Record<string, unknown> | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null

/** `steps[2].then[0].list` */
export const pathText = (path: Path): string =>
  path.map((part, i) => (typeof part === 'number' ? `[${part}]` : i === 0 ? part : `.${part}`)).join('')

const zodsMessage = z.locales.en().localeError

/** zod reports unknown properties in one issue. This returns an issue for each. */
const splitIssue = (issue: z.core.$ZodIssue): z.core.$ZodIssue[] =>
  issue.code !== 'unrecognized_keys'
    ? [issue]
    : issue.keys.map((key) => {
        const own = { ...issue, keys: [key] }
        return { ...own, message: String(zodsMessage(own as never)) }
      })

/** Returns all allowed values; `sentence` lists only the first few. */
const choicesOf = (issue: z.core.$ZodIssue): readonly unknown[] => {
  if (issue.code === 'invalid_value') return issue.values
  return issue.code === 'invalid_union' && 'options' in issue ? (issue.options as unknown[]) : []
}

const withChoices = (issue: z.core.$ZodIssue): z.core.$ZodIssue => {
  const choices = choicesOf(issue)
  return choices.length > 1 ? { ...issue, message: `must be one of ${choices.join(', ')}` } : issue
}

/** Returns a sentence with the path for each of zod's issues. `root` names the whole value. */
export const shapeFaults = (error: z.ZodError, root: string): string[] =>
  error.issues
    .flatMap(splitIssue)
    .map(withChoices)
    .map((issue) => sentence([issue], root))

const isPredicate = (message: string) => /^(must|is|has) /.test(message)

/** Returns a fault with its place, such as `steps[2].then[0].list: there is no list x`. */
export const faultText = ({ path, message }: Fault): string =>
  isPredicate(message)
    ? `${pathText(path)} ${message}`
    : `${pathText(path)}: ${message.charAt(0).toLowerCase()}${message.slice(1)}`

/** The result of checking a document: the file, or all of its errors with their paths. */
export type Checked<File> = { file: File; faults: null } | { file: null; faults: string[]; hint?: string | undefined }

interface Named {
  id?: string | undefined
  name: string
}

/** Two documents with the same name or id are an error: their order would decide which one takes effect. */
const duplicateFaults = (files: readonly Named[], noun: string): string[] =>
  files.flatMap(({ name, id }, i) => {
    const first = files.findIndex((other) => other.name === name || (id !== undefined && other.id === id))
    return first < i ? [`document ${i + 1}: is the ${noun} of document ${first + 1} too`] : []
  })

/** Checks documents that are applied together. Throws Problem `invalid` with every error of every document. */
export const requireFiles = async <File extends Named>(
  documents: readonly unknown[],
  noun: string,
  check: (document: unknown, index: number) => Promise<Checked<File>>,
): Promise<File[]> => {
  const files: File[] = []
  const faults: string[] = []
  let hint: string | undefined
  for (const [i, document] of documents.entries()) {
    const checked = await check(document, i)
    const where = documents.length > 1 ? `document ${i + 1}: ` : ''
    if (checked.faults) {
      faults.push(...checked.faults.map((fault) => where + fault))
      hint ??= checked.hint
    } else files.push(checked.file)
  }
  faults.push(...duplicateFaults(files, noun))
  if (faults.length > 0) throw invalid(faults.join('; '), hint === undefined ? {} : { hint })
  return files
}
