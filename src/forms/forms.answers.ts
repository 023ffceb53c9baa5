import { isEmailSyntax, normalizeEmail } from '../lib/email.ts'
import type { FormField } from '../studio/studio.ts'

/** What is wrong with an answer: `message` goes on after the field's name (`is required`, `must be …`). */
export interface AnswerFault {
  name: string
  message: string
}

/** The answers that were given, as texts by the fields' names; or every fault, in the fields' order. */
export type Answers = { values: Record<string, string>; faults: null } | { values: null; faults: AnswerFault[] }

/** UTF-16 units. */
export const answerMaxLength = (type: FormField['type']): number => (type === 'textarea' ? 10_000 : 1_000)

/** As a form of a browser posts it: null, what is no scalar and what is not there are no answer. */
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
 * What was answered to a form's fields, of what was posted; what the form does not ask for is passed over. Answers are
 * trimmed, empty ones left out; a checkbox is `true` or `false`. A browser posts no checkbox that is not ticked: with
 * `isWhole`, one that is not there is `false`.
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
    const message = faultOf(field, answer)
    if (message) faults.push({ name, message })
    else if (type === 'checkbox' ? isGiven || isWhole : answer !== '')
      values[name] = type === 'email' ? normalizeEmail(answer) : answer
  }
  return faults.length > 0 ? { values: null, faults } : { values, faults: null }
}
