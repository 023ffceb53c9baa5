import { dateOf, midnightOf } from './days.ts'
import { mistake, type Token, tokensOf } from './filter.tokens.ts'
import { nearest } from './nearest.ts'
import { shown } from './problem.ts'
import { parseDuration } from './since.ts'

export { mistake } from './filter.tokens.ts'

/*
 * The language of filters (docs/reference/segments.md#filters): text to a tree. It knows no database: terms.ts of segments says what
 * terms there are, and compiles the tree.
 */

const maxComparisons = 100

export type Order = '<' | '<=' | '>' | '>='

/** A name in a filter, which an operation resolves; errors report `column`. `length` counts its characters there, with quotes. */
export interface Named {
  name: string
  column: number
  length: number
}

/**
 * What a comparison holds for. `in` holds for each of the texts, and for a numeric value that equals one of the numbers.
 * `ordered` compares by code points. `numbers` and `number` hold for numeric values, `date` for values that begin with a date.
 * `age`, `day` and `instant` hold for times: `ms` ago, or relative to the UTC day that begins at `ms`, or to the ms. `moment` is
 * `ms` after now, or after the beginning of this UTC day; `atTime` replaces it. `names` holds for each of them, `missing` for no
 * value.
 */
export type Test =
  | { is: 'in'; values: readonly string[]; numbers?: readonly string[] }
  | { is: 'contains'; value: string }
  | { is: 'ordered'; operator: Order; value: string }
  | { is: 'numbers'; values: readonly string[] }
  | { is: 'number'; operator: Order; value: string }
  | { is: 'date'; operator: Order | '='; value: string }
  | { is: 'age'; operator: Order; ms: number }
  | { is: 'day' | 'instant'; operator: Order | '='; ms: number }
  | { is: 'moment'; operator: Order | '='; after: 'now' | 'today'; ms: number; of: 'text' | 'time' }
  | { is: 'names'; values: readonly Named[] }
  | { is: 'missing' }

/**
 * A comparison, of the field `field` or of the term `term`, with its `parameter` for terms such as `answer.`. `scope` is the
 * project or broadcast after `in`.
 */
export interface Comparison {
  is: 'comparison'
  term: string
  field: string | null
  parameter: string | null
  scope: Named | null
  test: Test
}

export type Filter = Comparison | { is: 'not'; of: Filter } | { is: 'and' | 'or'; of: readonly Filter[] }

/**
 * What a term is compared with: `text` (also one of a closed set), `number`, `time` (a date or an age), `name` (an id or a name
 * of something), or `set`: a name, but the term is never empty. `isScoped` says that it takes `in <project|broadcast>`.
 * `parameter` is what follows the name of the term, which ends with a dot.
 */
export interface TermKind {
  readonly kind: 'text' | 'number' | 'time' | 'name' | 'set'
  readonly values?: readonly string[]
  readonly isScoped?: boolean
  readonly parameter?: string
}

/** The terms that a filter may use, and the columns, which it may use without `field.` before them. */
export interface Vocabulary {
  readonly terms: ReadonlyMap<string, TermKind>
  readonly columns: Pick<ReadonlySet<string>, 'has'> & Iterable<string>
}

const fieldPrefix = 'field.'
const keywords = new Set(['or', 'and', 'not', 'in', 'is', 'empty'])
const orders: readonly string[] = ['<', '<=', '>', '>='] satisfies Order[]
const operators = {
  text: ['=', '!=', '~', ...orders, 'in', 'is'],
  number: ['=', '!=', ...orders, 'in', 'is'],
  time: ['=', '!=', ...orders, 'is'],
  name: ['=', '!=', 'in', 'is'],
  set: ['=', '!=', 'in'],
} satisfies Record<TermKind['kind'], string[]>

const number = /^-?\d+(\.\d+)?$/
/** A duration whose numbers have at most five digits: the database can subtract it from any time. */
const age = /^(?=\d)(\d{1,5}w)?(\d{1,5}d)?(\d{1,5}h)?(\d{1,5}m)?(\d{1,5}s)?$/
const moment = /^(?<after>now|today)(?:(?<sign>[+-])(?<age>\d.*))?$/
const dayMs = 86_400_000

const isWord = ({ kind, text }: Token, word: string): boolean => kind === 'word' && text === word
const isSymbol = ({ kind, text }: Token, symbol: string): boolean => kind === 'symbol' && text === symbol
const isOperator = ({ kind, text }: Token): boolean => kind === 'symbol' && !/[(),]/.test(text)
const isValue = ({ kind, text }: Token): boolean => kind === 'string' || (kind === 'word' && !keywords.has(text))

/** Returns a test at a time: a `moment` becomes a date for texts, and a day or an instant for times. */
export const atTime = (test: Test, nowMs: number): Test => {
  if (test.is !== 'moment') return test
  const { operator, after } = test
  const start = after === 'today' ? nowMs - (nowMs % dayMs) : nowMs
  const ms = start + test.ms
  if (test.of === 'text') return { is: 'date', operator, value: dateOf(ms) }
  return { is: after === 'today' && test.ms % dayMs === 0 ? 'day' : 'instant', operator, ms }
}

/** Returns `; did you mean "and"?` if a text differs only in case from one of those that were expected. */
const meant = ({ kind, text }: Pick<Token, 'kind' | 'text'>, expected: Iterable<string>): string => {
  if (kind !== 'word') return ''
  const lower = text.toLowerCase()
  for (const one of expected) if (one !== text && one.toLowerCase() === lower) return `; did you mean "${shown(one)}"?`
  return ''
}

/** `a, b or c` */
const choice = (of: readonly string[]): string =>
  of.length < 2 ? of.join('') : `${of.slice(0, -1).join(', ')} or ${of.at(-1)}`

/** Returns the complement. Two negations cancel out, so that the tree is no deeper than its comparisons require. */
const not = (filter: Filter): Filter => (filter.is === 'not' ? filter.of : { is: 'not', of: filter })

const join = (is: 'and' | 'or', of: readonly Filter[]): Filter => (of.length === 1 ? of[0]! : { is, of })

/** A part of a comparison, with its text for errors in what follows. */
interface Subject {
  term: string
  field: string | null
  parameter: string | null
  type: TermKind
  after: string
}

/** An open group: the alternatives that ended with `or`, and the terms of the one that continues. */
interface Group {
  alternatives: Filter[]
  all: Filter[]
  isNegated: boolean
}

const newGroup = (isNegated: boolean): Group => ({ alternatives: [], all: [], isNegated })

const closed = ({ alternatives, all, isNegated }: Group): Filter => {
  const filter = join('or', [...alternatives, join('and', all)])
  return isNegated ? not(filter) : filter
}

const availableTerms = ({ terms, columns }: Vocabulary): string => {
  const most = 40
  const names = [...terms].map(([name, { parameter }]) => (parameter ? `${name}<${parameter}>` : name))
  const all = [...names, 'field.<name>', ...columns]
  return `${all
    .slice(0, most)
    .map((name) => shown(name))
    .join(', ')}${all.length > most ? ' …' : ''}`
}

const clockWords = ['now', 'today']

/** Returns what a term's value means in a comparison. Throws Problem `invalid`. */
const testOf = (type: TermKind, operator: Token, value: Token): Test => {
  const expected = (what: string, accepted: readonly string[] = []) =>
    mistake(value.column, `expected ${what} after "${operator.text}"${meant(value, accepted)}`)
  const { text } = value
  const order = orders.includes(operator.text) ? (operator.text as Order) : null
  const readMoment = (of: 'text' | 'time'): Test | null => {
    const found = value.kind === 'word' && moment.exec(text)?.groups
    if (!found) return null
    const { after, sign, age: distance } = found
    if (distance !== undefined && !age.test(distance))
      throw mistake(value.column, `expected an age such as 7d after "${after}${sign}"`)
    const ms = distance === undefined ? 0 : (sign === '-' ? -1 : 1) * parseDuration(distance)
    return { is: 'moment', operator: order ?? '=', after: after as 'now' | 'today', ms, of }
  }
  if (type.kind === 'name' || type.kind === 'set')
    return { is: 'names', values: [{ name: text, column: value.column, length: value.length }] }
  if (type.kind === 'number') {
    if (!number.test(text)) throw expected('a number')
    return order ? { is: 'number', operator: order, value: text } : { is: 'numbers', values: [text] }
  }
  if (type.kind === 'time') {
    const day = midnightOf(text)
    if (day !== null) return { is: 'day', operator: order ?? '=', ms: day }
    const found = readMoment('time')
    if (found) return found
    if (!order) throw expected('a date such as 2026-11-01', clockWords)
    if (!age.test(text)) {
      const lower = text.toLowerCase()
      throw expected('a date such as 2026-11-01 or an age such as 30d', [
        ...clockWords,
        ...(age.test(lower) ? [lower] : []),
      ])
    }
    return { is: 'age', operator: order, ms: parseDuration(text) }
  }
  if (operator.text === '~') return { is: 'contains', value: text }
  const found = type.values ? null : readMoment('text')
  if (found) return found
  if (order) {
    if (value.kind === 'string') return { is: 'ordered', operator: order, value: text }
    if (number.test(text)) return { is: 'number', operator: order, value: text }
    if (midnightOf(text) !== null) return { is: 'date', operator: order, value: text }
    if (age.test(text) || clockWords.includes(text.toLowerCase()))
      throw expected('a number, a date such as 2026-11-01, or a text in quotes', clockWords)
    return { is: 'ordered', operator: order, value: text }
  }
  if (type.values && text !== '' && !type.values.includes(text)) throw expected(choice(type.values), type.values)
  const isNumber = value.kind === 'word' && number.test(text)
  return { is: 'in', values: [text], ...(isNumber && { numbers: [text] }) }
}

/** Joins the tests of the values of a list. Those of moments stay as they are. */
const anyOf = (tests: readonly Test[]): Test[] => {
  const [first] = tests
  if (first?.is === 'names') return [{ is: 'names', values: tests.flatMap((test) => (test as typeof first).values) }]
  if (first?.is === 'numbers')
    return [{ is: 'numbers', values: tests.flatMap((test) => (test as typeof first).values) }]
  const texts = tests.filter((test) => test.is === 'in')
  const numbers = texts.flatMap((test) => test.numbers ?? [])
  const values = texts.flatMap((test) => test.values)
  return [
    ...(values.length > 0 ? [{ is: 'in' as const, values, ...(numbers.length > 0 && { numbers }) }] : []),
    ...tests.filter((test) => test.is === 'moment'),
  ]
}

/**
 * Returns the tree of a filter. Its depth is bounded by the number of its comparisons. Throws Problem `invalid` with the column of the
 * first mistake.
 */
export const parseFilter = (text: string, vocabulary: Vocabulary): Filter => {
  const tokens = tokensOf(text)
  let at = 0
  let comparisons = 0
  const peek = (): Token => tokens[at]!
  const next = (): Token => tokens[Math.min(at++, tokens.length - 1)]!

  const count = (): void => {
    if (++comparisons > maxComparisons)
      throw mistake(peek().column, `expected the end, as a filter has at most ${maxComparisons} comparisons`)
  }

  const wrong = (token: Token, what: string, accepted: readonly string[] = []) =>
    token.kind === 'unclosed'
      ? mistake(tokens.at(-1)!.column, 'expected a closing quote')
      : mistake(token.column, `expected ${what}${meant(token, accepted)}`)

  const readValue = (after: Token, what: string): Token => {
    const value = next()
    if (!isValue(value)) throw wrong(value, `${what} after "${after.text}"`)
    return value
  }

  const readSubject = (): Subject => {
    const token = next()
    if (token.kind !== 'word' || keywords.has(token.text)) throw wrong(token, 'a term, "not" or "("')
    const { text: name } = token
    const field = (named: string, after: string): Subject => ({
      term: 'field',
      field: named,
      parameter: null,
      after,
      type: { kind: 'text' },
    })
    const prefix = name.slice(0, name.indexOf('.') + 1)
    const prefixed = prefix === fieldPrefix ? null : vocabulary.terms.get(prefix)
    const type = vocabulary.terms.get(name)
    if (type && name !== prefix) return { term: name, field: null, parameter: null, type, after: name }
    if (prefix === fieldPrefix || prefixed) {
      let [named, after] = [name.slice(prefix.length), name]
      if (named === '') {
        const quoted = peek()
        if (!quoted.isAdjacent || quoted.kind !== 'string') throw wrong(quoted, `a name after "${prefix}"`)
        at++
        ;[named, after] = [quoted.text, `${prefix}"${quoted.text}"`]
      }
      return prefixed ? { term: prefix, field: null, parameter: named, type: prefixed, after } : field(named, after)
    }
    if (vocabulary.columns.has(name)) return field(name, name)
    const named = name.slice(prefix.length)
    const prefixes = [fieldPrefix, ...vocabulary.terms.keys()].filter((term) => term.endsWith('.'))
    const known = [...vocabulary.terms.keys(), ...vocabulary.columns, 'not']
    const near = nearest(prefix, prefixes)
    const isMisspelt = name.length > 2 && !prefixes.includes(`${name}.`)
    const likely = isMisspelt ? (nearest(name, known) ?? (near && near + named)) : undefined
    const suggestion =
      meant(token, [...known, ...prefixes.map((term) => term + named)]) ||
      (likely && `; did you mean "${shown(likely)}"?`)
    throw mistake(
      token.column,
      `unknown term "${shown(name)}"${suggestion || `; available: ${availableTerms(vocabulary)}`}`,
    )
  }

  const readScope = ({ type }: Subject): Named | null => {
    if (!type.isScoped || !isWord(peek(), 'in')) return null
    // A list of values follows.
    if (type.kind === 'text' && isSymbol(tokens[at + 1]!, '(')) return null
    const { text: name, column, length } = readValue(next(), 'a project or broadcast')
    return { name, column, length }
  }

  const readList = (type: TermKind, operator: Token): Test[] => {
    const opening = next()
    if (!isSymbol(opening, '(')) throw wrong(opening, '"(" after "in"')
    const tests: Test[] = []
    for (let before = opening; ; ) {
      tests.push(testOf(type, operator, readValue(before, 'a value')))
      // Each moment becomes a comparison.
      if (tests.at(-1)!.is === 'moment') count()
      before = next()
      if (isSymbol(before, ')')) return anyOf(tests)
      if (!isSymbol(before, ',')) throw wrong(before, '"," or ")"')
    }
  }

  const readEmpty = ({ kind }: TermKind): { test: Test; isNegated: boolean } => {
    const isNegated = isWord(peek(), 'not')
    if (isNegated) at++
    const empty = next()
    if (!isWord(empty, 'empty'))
      throw wrong(empty, isNegated ? '"empty" after "not"' : '"empty" or "not empty" after "is"', ['empty', 'not'])
    return { test: kind === 'text' ? { is: 'in', values: [''] } : { is: 'missing' }, isNegated }
  }

  const readComparison = (): Filter => {
    count()
    const subject = readSubject()
    const { term, field, parameter, type, after } = subject
    const scope = readScope(subject)
    const operator = next()
    if (isSymbol(operator, '==')) throw mistake(operator.column, 'use "="')
    const isKnown = isOperator(operator) || isWord(operator, 'in') || isWord(operator, 'is')
    if (!isKnown) throw wrong(operator, `a comparison after "${scope ? scope.name : shown(after)}"`, ['in', 'is'])
    if (!(operators[type.kind] as string[]).includes(operator.text))
      throw wrong(operator, `${choice(operators[type.kind])} after "${shown(after)}"`)
    const compared = (test: Test, isNegated: boolean): Filter => {
      const comparison: Comparison = { is: 'comparison', term, field, parameter, scope, test }
      return isNegated ? not(comparison) : comparison
    }
    if (operator.text === 'in')
      return join(
        'or',
        readList(type, operator).map((test) => compared(test, false)),
      )
    if (operator.text === 'is') {
      const { test, isNegated } = readEmpty(type)
      return compared(test, isNegated)
    }
    return compared(testOf(type, operator, readValue(operator, 'a value')), operator.text === '!=')
  }

  // The open groups, the innermost last. A loop instead of recursion: nesting needs no limit.
  const groups = [newGroup(false)]
  for (;;) {
    let isNegated = false
    for (; isWord(peek(), 'not'); at++) isNegated = !isNegated
    if (isSymbol(peek(), '(')) {
      at++
      groups.push(newGroup(isNegated))
      continue
    }
    const comparison = readComparison()
    groups.at(-1)!.all.push(isNegated ? not(comparison) : comparison)
    while (groups.length > 1 && isSymbol(peek(), ')')) {
      at++
      const filter = closed(groups.pop()!)
      groups.at(-1)!.all.push(filter)
    }
    const token = next()
    if (token.kind === 'end' && groups.length === 1) return closed(groups[0]!)
    const group = groups.at(-1)!
    if (isWord(token, 'or')) group.alternatives.push(join('and', group.all.splice(0)))
    else if (!isWord(token, 'and'))
      throw wrong(token, groups.length > 1 ? '"and", "or" or ")"' : '"and", "or" or the end', ['and', 'or'])
  }
}
