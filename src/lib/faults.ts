import { z } from 'zod'
import { invalid } from './problem.ts'
import { sentence } from './sentence.ts'

/** A place in a file that an author wrote. */
export type Path = readonly (string | number)[]

/** What is wrong at a place of a file. A message that starts with a verb (`must …`, `is …`, `has …`) goes on after the place. */
export interface Fault {
  path: Path
  message: string
}

/** The value where it is an object with properties, else null. */
export const recordOf = (value: unknown): Record<string, unknown> | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null

/** `steps[2].then[0].list` */
export const pathText = (path: Path): string =>
  path.map((part, i) => (typeof part === 'number' ? `[${part}]` : i === 0 ? part : `.${part}`)).join('')

const zodsMessage = z.locales.en().localeError

/** zod names unknown properties together; here each is a fault of its own. */
const apart = (issue: z.core.$ZodIssue): z.core.$ZodIssue[] =>
  issue.code !== 'unrecognized_keys'
    ? [issue]
    : issue.keys.map((key) => {
        const own = { ...issue, keys: [key] }
        return { ...own, message: String(zodsMessage(own as never)) }
      })

/** All that there is to choose from: `sentence` alone names the first few. */
const choicesOf = (issue: z.core.$ZodIssue): readonly unknown[] => {
  if (issue.code === 'invalid_value') return issue.values
  return issue.code === 'invalid_union' && 'options' in issue ? (issue.options as unknown[]) : []
}

const withChoices = (issue: z.core.$ZodIssue): z.core.$ZodIssue => {
  const choices = choicesOf(issue)
  return choices.length > 1 ? { ...issue, message: `must be one of ${choices.join(', ')}` } : issue
}

/** Every one of zod's issues as a sentence with its path; `root` is what the whole goes by. */
export const shapeFaults = (error: z.ZodError, root: string): string[] =>
  error.issues
    .flatMap(apart)
    .map(withChoices)
    .map((issue) => sentence([issue], root))

const isPredicate = (message: string) => /^(must|is|has) /.test(message)

/** `steps[2].then[0].list: there is no list x` */
export const faultText = ({ path, message }: Fault): string =>
  isPredicate(message)
    ? `${pathText(path)} ${message}`
    : `${pathText(path)}: ${message.charAt(0).toLowerCase()}${message.slice(1)}`

/** What became of one document: the checked file, or every fault in it, each with its path. */
export type Checked<File> = { file: File; faults: null } | { file: null; faults: string[] }

interface Named {
  id?: string | undefined
  name: string
}

/** Two documents for one thing: which of them holds would be chance. */
const twinFaults = (files: readonly Named[], noun: string): string[] =>
  files.flatMap(({ name, id }, i) => {
    const twin = files.findIndex((other) => other.name === name || (id !== undefined && other.id === id))
    return twin < i ? [`document ${i + 1}: is the ${noun} of document ${twin + 1} too`] : []
  })

/** Checks documents that are applied together. Throws Problem `invalid` with every fault of every document. */
export const demandFiles = async <File extends Named>(
  documents: readonly unknown[],
  noun: string,
  check: (document: unknown, index: number) => Promise<Checked<File>>,
): Promise<File[]> => {
  const files: File[] = []
  const faults: string[] = []
  for (const [i, document] of documents.entries()) {
    const checked = await check(document, i)
    const where = documents.length > 1 ? `document ${i + 1}: ` : ''
    if (checked.faults) faults.push(...checked.faults.map((fault) => where + fault))
    else files.push(checked.file)
  }
  faults.push(...twinFaults(files, noun))
  if (faults.length > 0) throw invalid(faults.join('; '))
  return files
}
