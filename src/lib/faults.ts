import { z } from 'zod'
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
