import { z } from 'zod'
import { shown } from './problem.ts'

type Issue = z.core.$ZodIssue
type Path = readonly PropertyKey[]

const zodsMessage = z.locales.en().localeError
const shownChoices = 8

const nouns: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  bigint: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
  date: 'a date',
  null: 'null',
}
const noun = (type: string): string => nouns[type] ?? `of type ${type}`

const formats: Record<string, string> = { email: 'must be an email address', url: 'must be a URL' }

/** Returns a caller's name in a form that is safe to repeat: shortened, and quoted unless it is a plain word. */
const quoted = (name: string): string => (/^[\w-]{1,40}$/.test(name) ? name : JSON.stringify(shown(name, 41)))

/** Returns `contacts[3].email`, or `root` for an empty path. */
const fieldName = (path: Path, root: string): string => {
  let name = ''
  for (const key of path) {
    if (typeof key === 'number') name += `[${key}]`
    else name += name === '' ? quoted(String(key)) : `.${quoted(String(key))}`
  }
  return shown(name) || root
}

/** Returns the message that the schema defines, or null if it is zod's own, which names types instead of fields. */
const authored = (issue: Issue): string | null => {
  if (issue.code === 'invalid_type' && issue.message.startsWith('Invalid input: expected ')) return null
  const own = zodsMessage(issue as never)
  return issue.message === (typeof own === 'string' ? own : own?.message) ? null : issue.message
}

const units = (origin: string, count: number | bigint): string => {
  const word = { string: 'character', array: 'item', set: 'item', map: 'item', record: 'property' }[origin]
  if (!word) return ''
  return ` ${count === 1 || count === 1n ? word : word.replace(/y$/, 'ie').concat('s')}`
}

const sized = (origin: string, comparison: string, count: number | bigint): string => {
  const verb = origin === 'array' || origin === 'record' ? 'have' : 'be'
  return `must ${verb} ${comparison} ${count}${units(origin, count)}`
}

const tooSmall = ({ origin, minimum, inclusive, exact }: z.core.$ZodIssueTooSmall): string => {
  if (origin === 'string' && minimum === 1) return 'must not be empty'
  return sized(origin, exact ? 'exactly' : inclusive === false ? 'more than' : 'at least', minimum)
}

const tooBig = ({ origin, maximum, inclusive, exact }: z.core.$ZodIssueTooBig): string =>
  sized(origin, exact ? 'exactly' : inclusive === false ? 'less than' : 'at most', maximum)

const wrongType = (issue: z.core.$ZodIssueInvalidType, atRoot: boolean): string => {
  if (issue.message.endsWith('received undefined')) return 'is required'
  return `must be ${atRoot && issue.expected === 'object' ? 'a JSON object' : noun(issue.expected)}`
}

const oneOf = (values: readonly unknown[]): string => {
  const shown = values.slice(0, shownChoices).map(String).join(', ')
  if (values.length === 1) return `must be ${shown}`
  return `must be one of ${shown}${values.length > shownChoices ? ', …' : ''}`
}

/** Whether `one` sets a narrower bound than `other`. */
const isNarrower = (one: Issue, other: Issue): boolean =>
  (one.code === 'too_big' && other.code === 'too_big' && one.maximum < other.maximum) ||
  (one.code === 'too_small' && other.code === 'too_small' && one.minimum > other.minimum)

/** Returns the first issue, or the narrowest of the bounds of that value: zod checks first that a number is a safe integer. */
const firstOf = ([first, ...others]: readonly Issue[]): Issue | undefined =>
  others
    .filter(({ path }) => path.join() === first?.path.join())
    .reduce((narrowest, issue) => (narrowest && isNarrower(issue, narrowest) ? issue : narrowest), first)

/** Describes the branch that the input was probably meant for (it matched at the root), else the types that all branches accept. */
const unionSentence = (issue: z.core.$ZodIssueInvalidUnion, path: Path, root: string): string => {
  if ('discriminator' in issue && 'options' in issue) {
    return `${fieldName(path, root)} ${oneOf(issue.options as unknown[])}`
  }
  const firsts = issue.errors.flatMap((branch) => firstOf(branch) ?? [])
  const meant = firsts.find((first) => first.path.length > 0 || first.code !== 'invalid_type')
  if (meant) return issueSentence(meant, path, root)
  const types = firsts.filter((first) => first.code === 'invalid_type')
  if (types.some((first) => first.message.endsWith('received undefined'))) return `${fieldName(path, root)} is required`
  const expected = [...new Set(types.map((first) => noun(first.expected)))]
  return `${fieldName(path, root)} ${expected.length > 0 ? `must be ${expected.join(' or ')}` : 'is invalid'}`
}

const predicate = (issue: Issue, atRoot: boolean): string => {
  if (issue.code === 'invalid_type') return wrongType(issue, atRoot)
  if (issue.code === 'too_small') return tooSmall(issue)
  if (issue.code === 'too_big') return tooBig(issue)
  if (issue.code === 'invalid_format') return formats[issue.format] ?? 'has an invalid format'
  if (issue.code === 'invalid_value') return oneOf(issue.values)
  if (issue.code === 'not_multiple_of') return `must be a multiple of ${issue.divisor}`
  if (issue.code === 'unrecognized_keys') return `has an unknown property ${quoted(issue.keys[0] ?? '')}`
  return 'is invalid'
}

const issueSentence = (issue: Issue, parent: Path, root: string): string => {
  const path = [...parent, ...issue.path]
  const message = authored(issue)
  if (message !== null) return /^(must|is|has|can't) /.test(message) ? `${fieldName(path, root)} ${message}` : message
  if (issue.code === 'invalid_union') return unionSentence(issue, path, root)
  if (issue.code === 'invalid_key' && issue.issues[0]) {
    return issueSentence(issue.issues[0], [], `a name in ${fieldName(path.slice(0, -1), root)}`)
  }
  return `${fieldName(path, root)} ${predicate(issue, path.length === 0)}`
}

/**
 * Returns the first of zod's issues as one short sentence that names the field: `contacts[3].email must be a string`. A message
 * of the schema is used unchanged, except that the field's name precedes one that starts with a verb (`must be …`, `is …`,
 * `has …`, `can't …`). `root` names the whole value. The sentence never repeats the input's values.
 */
export const sentence = (issues: readonly Issue[], root = 'body'): string =>
  issues.length > 0 ? issueSentence(firstOf(issues)!, [], root) : `${root} is invalid`
