import { isEmailSyntax, normalizeEmail } from '../lib/email.ts'
import { infiniteFault } from '../lib/infinite.ts'
import type { FormField } from '../studio/studio.ts'

/** An invalid answer. `message` continues the field's name: `is required`, `must be …`. */
export interface AnswerFault {
  name: string
  message: string
}

/** The answers as texts by field name; or every fault, in the order of the fields. */
type Answers = { values: Record<string, string>; faults: null } | { values: null; faults: AnswerFault[] }

/** Returns the maximum length of an answer in UTF-16 units. */
export const answerMaxLength = (type: FormField['type']): number => (type === 'textarea' ? 10_000 : 1_000)

/** Returns a value as the text that a browser would post. null, undefined and objects are an empty answer. */
const textOf = (value: unknown): string => {
  if (value === undefined || value === null || typeof value === 'object') return ''
  return String(value).replace(/\r\n?/g, '\n').trim()
}

const unticked = ['', 'false', 'no', 'off', '0']

const kindFault = ({ type, options }: FormField, answer: string): string | null => {
  if (type === 'email' && !isEmailSyntax(normalizeEmail(answer))) return 'must be an email address'
  if (type === 'number' && !Number.isFinite(Number(answer))) return 'must be a number'
  if (type === 'select' && !options!.includes(answer)) return 'must be one of its options'
  return null
}

const faultOf = (field: FormField, answer: string): string | null => {
  if (field.type === 'checkbox') return field.required && answer !== 'true' ? 'must be ticked' : null
  if (answer === '') return field.required ? 'is required' : null
  const maxLength = answerMaxLength(field.type)
  if (answer.length > maxLength) return `must be at most ${maxLength.toLocaleString('en')} characters`
  if (answer.includes('\0') || !answer.isWellFormed()) return 'must not contain NUL characters or broken Unicode'
  return kindFault(field, answer)
}

/**
 * Reads the answers to a form's fields from posted values; other values are ignored. Answers are trimmed, empty ones omitted; a
 * checkbox is `true` or `false`. A browser posts only ticked checkboxes, so with `isWhole` a missing one is `false`.
 */
export const readAnswers = (
  fields: readonly FormField[],
  given: Readonly<Record<string, unknown>>,
  { isWhole = false }: { isWhole?: boolean } = {},
): Answers => {
  const values: Record<string, string> = {}
  const faults: AnswerFault[] = []
  for (const field of fields) {
    const { name, type } = field
    const isGiven = Object.hasOwn(given, name)
    const text = isGiven ? textOf(given[name]) : ''
    const answer = type === 'checkbox' ? (unticked.includes(text.toLowerCase()) ? 'false' : 'true') : text
    const message = infiniteFault(given[name]) ?? faultOf(field, answer)
    if (message) faults.push({ name, message })
    else if (type === 'checkbox' ? isGiven || isWhole : answer !== '')
      values[name] = type === 'email' ? normalizeEmail(answer) : answer
  }
  return faults.length > 0 ? { values: null, faults } : { values, faults: null }
}
