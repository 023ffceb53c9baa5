import { contactsOfList, contactsOfLists, verdicts } from '../contacts/contacts.rows.ts'
import { findList, listLists, requireList } from '../contacts/contacts.ts'
import { filterMaxLength } from '../lib/filter.tokens.ts'
import {
  atTime,
  type Comparison,
  type Filter,
  mistake,
  type Named,
  type Order,
  parseFilter,
  type TermKind,
  type Test,
} from '../lib/filter.ts'
import { invalid, notFound, Problem, shown } from '../lib/problem.ts'
import { typed } from '../store/column-types.ts'
import { statement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'
import { findSegment, type SegmentView } from './segments.find.ts'
import type { Bind, FilterNames, Scope, Term } from './segments.terms.ts'

/*
 * Compiles filters to SQL. Every value is a parameter, and every condition is true or false, never null, so that `not` is the exact
 * complement. Values of the contact's own row are compared in it. Other terms become one of two shapes: a lookup by the address for
 * pages, which read few contacts; a set of addresses, joined by hashing, for statements that read a whole list.
 */

/** A filter for rows of contacts, which are named `c`, or `as`. */
export interface Matcher {
  /** A condition of lookups, for pages. */
  condition(bind: Bind, as?: string): string
  /** Joins of sets with a condition on them, for statements that read a whole list. */
  sets(bind: Bind, as?: string): { joins: string; condition: string }
  /** To be stored with the filter. */
  readonly names: FilterNames
  /** The filter with ids instead of names, where a name stands for one thing. */
  readonly withIds: string
  /** The ids of the segments that it uses, also by other segments. */
  readonly segments: readonly string[]
}

/** A segment that a filter uses. */
interface Used {
  listId: string
  matcher: Matcher
}

/**
 * The segments that contain a filter: their ids, the outermost first, and the number of comparisons that were counted
 * in them.
 */
interface Within {
  readonly segments: readonly string[]
  readonly counted: { comparisons: number }
  /** Every bare name that is no term is a field. */
  readonly isAnyField?: boolean
  /** What ages, `now` and `today` are relative to. The default is the time of the unit of work. */
  readonly at?: Date | undefined
}

const maxComparisons = 100

const bindings = { text: 'text', texts: 'text[]', number: 'numeric', time: 'timestamptz' } as const

/** A term whose SQL is an expression over the contact's own row `c`. `salt` is its parameter. */
interface OwnTerm extends TermKind {
  readonly kind: 'text' | 'number' | 'time'
  sql(c: string, salt: () => string): string
}

/**
 * Returns SQL of a number from 0 to 100: the first 32 bits of a hash of the salt and the address. SHA-256 spreads
 * similar addresses evenly.
 */
const sampleOf = (c: string, salt: string): string =>
  `(('x' || encode(substr(sha256(convert_to(${salt} || chr(10) || ${c}.email, 'UTF8')), 1, 4), 'hex'))::bit(32)::int8
    * 100 / 4294967296.0)`

const own: Readonly<Record<string, OwnTerm>> = {
  email: { kind: 'text', sql: (c) => `${c}.email` },
  // An address without @ has no domain.
  domain: {
    kind: 'text',
    sql: (c) => `case when strpos(${c}.email, '@') > 0 then split_part(${c}.email, '@', -1) else '' end`,
  },
  status: { kind: 'text', values: ['active', 'pending'], sql: (c) => `${c}.status` },
  created: { kind: 'time', sql: (c) => `${c}.created_at` },
  updated: { kind: 'time', sql: (c) => `${c}.updated_at` },
  sample: { kind: 'number', sql: (c) => sampleOf(c, `''`) },
  'sample.': { kind: 'number', parameter: 'salt', sql: (c, salt) => sampleOf(c, salt()) },
}

const list: Term = {
  name: 'list',
  kind: 'set',
  find: async (work, ref) => [(await findList(work, ref)).id],
  rows: ({ account }) => ({
    from: `${contactsOfLists(account)} l`,
    where: 'true',
    email: 'l.email',
    value: 'l.list_id',
    rowId: 'l.row_id',
  }),
}

const segmentTerm = 'segment'

const verification: Term = {
  name: 'verification',
  kind: 'text',
  values: ['valid', 'risky', 'invalid', 'unknown'],
  rows: ({ account }) => ({ from: `${verdicts(account)} v`, where: 'true', email: 'v.email', value: 'v.status' }),
}

/** Returns the terms of the language that are not fields. `has` also knows terms with their parameter. */
export const termNames = async (work: Work): Promise<Pick<ReadonlySet<string>, 'has'>> => {
  const { terms } = await work.filterParts()
  const others = [verification, list, ...terms].map(({ name }) => name)
  const names = new Set([...Object.keys(own), ...others, segmentTerm])
  return { has: (name) => names.has(name) || names.has(name.slice(0, name.indexOf('.') + 1)) }
}

const dayMs = 86_400_000
const numeric = '^-?[0-9]+([.][0-9]+)?$'

/** Returns an SQL condition that every number and every date meets, and most other texts do not: `:` follows `-` and the digits. */
const beforeColon = (value: string): string => `${value} collate "C" < ':'`

/** Returns the SQL condition that a text is a number. */
const isNumber = (value: string): string => `(${beforeColon(value)} and ${value} ~ '${numeric}')`

/** Returns the SQL condition that a text of 10 characters is a date. It takes a third of the time of a regular expression. */
const isDate = (value: string): string => `translate(${value}, '012345678', '999999999') = '9999-99-99'`

/** Returns the times for which a test of the kind `time` holds: `[from, to)` in epoch ms. */
const rangeOf = (test: Test, nowMs: number): { from?: number; to?: number } => {
  if (test.is === 'day' || test.is === 'instant') {
    const [start, end] = [test.ms, test.ms + (test.is === 'day' ? dayMs : 1)]
    const ranges = {
      '=': { from: start, to: end },
      '<': { to: start },
      '<=': { to: end },
      '>': { from: end },
      '>=': { from: start },
    }
    return ranges[test.operator]
  }
  if (test.is !== 'age') throw new Error(`A time is not compared with ${test.is}`)
  const then = nowMs - test.ms
  return { '<': { from: then + 1 }, '<=': { from: then }, '>': { to: then }, '>=': { to: then + 1 } }[test.operator]
}

const holds = (operator: Order, left: number, right: number): boolean =>
  ({ '<': left < right, '<=': left <= right, '>': left > right, '>=': left >= right })[operator]

/** Whether a test holds for the value of an address that has no rows. */
const holdsForNone = (test: Test, missing: number | undefined): boolean => {
  if (test.is === 'missing') return true
  if (test.is === 'in') return test.values.includes('')
  if (test.is === 'contains') return test.value === ''
  if (test.is === 'ordered')
    return test.operator === '<=' || (test.value === '' ? test.operator === '>=' : test.operator === '<')
  if (missing === undefined) return false
  if (test.is === 'numbers') return test.values.some((value) => Number(value) === missing)
  return test.is === 'number' && holds(test.operator, missing, Number(test.value))
}

/** Returns the SQL condition of a test on a value, which is not null. It is null if no value meets it. */
const valueTest = (
  test: Test,
  kind: Term['kind'],
  value: string,
  bind: Bind,
  idsOf: (name: Named) => readonly string[],
) => {
  const bound = (as: keyof typeof bindings, given: unknown) => `${bind(given)}::${bindings[as]}`
  switch (test.is) {
    case 'in': {
      const texts =
        test.values.length === 1
          ? `${value} = ${bound('text', test.values[0])}`
          : `${value} = any(${bound('texts', test.values)})`
      if (!test.numbers) return texts
      const equal = `(${value})::numeric = any(${bind(test.numbers)}::numeric[])`
      return `(${texts} or case when ${isNumber(value)} then ${equal} else false end)`
    }
    case 'names':
      return `${value} = any(${bound('texts', test.values.flatMap(idsOf))})`
    case 'contains':
      return `strpos(lower(${value}), lower(${bound('text', test.value)})) > 0`
    case 'ordered':
      return `(${value}) collate "C" ${test.operator} ${bound('text', test.value)}`
    case 'numbers':
      return `${value} = any(${bind(test.values)}::numeric[])`
    case 'number': {
      const compared = `(${value})::numeric ${test.operator} ${bound('number', test.value)}`
      return kind === 'number' ? compared : `case when ${isNumber(value)} then ${compared} else false end`
    }
    case 'date': {
      const day = `left(${value}, 10)`
      // Most other texts follow every date.
      const first = test.operator.startsWith('>') ? `${beforeColon(value)} and ` : ''
      return `(${first}${day} collate "C" ${test.operator} ${bound('text', test.value)} and ${isDate(day)})`
    }
    default:
      return null
  }
}

/** Returns the comparisons of a filter, from left to right. */
const comparisonsIn = (filter: Filter): Comparison[] => {
  if (filter.is === 'comparison') return [filter]
  return filter.is === 'not' ? comparisonsIn(filter.of) : filter.of.flatMap(comparisonsIn)
}

const combine = (filter: Filter, leaf: (comparison: Comparison) => string): string => {
  if (filter.is === 'comparison') return leaf(filter)
  if (filter.is === 'not') return `not (${combine(filter.of, leaf)})`
  return `(${filter.of.map((one) => combine(one, leaf)).join(` ${filter.is} `)})`
}

/**
 * Returns what a name stands for: the result of `find` for it, or for each of the ids that are stored with the filter. Reports a refusal
 * as a mistake at the column of the name.
 */
const resolve = async <T>(
  { name, column }: Named,
  ids: readonly string[] | undefined,
  find: (ref: string) => Promise<T>,
): Promise<T[]> => {
  const found: T[] = []
  for (const ref of ids ?? [name])
    try {
      found.push(await find(ref))
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      throw mistake(column, ids ? `${shown(name)} does not exist any more` : error.message)
    }
  return found
}

const joinScopes = (scopes: readonly Scope[]): Scope => ({
  ids: scopes.flatMap(({ ids }) => ids),
  projectIds: [...new Set(scopes.flatMap(({ projectIds }) => projectIds))],
  keys: scopes.some(({ keys }) => keys === null) ? null : scopes.flatMap(({ keys }) => keys ?? []),
})

const readNames = statement(
  'read-names-of-segment',
  { row: { names: typed<FilterNames | null>('jsonb') }, parameters: { accountId: 'text', id: 'text' } },
  'select filter_names as names from segments where account_id = :accountId and id = :id',
)

/**
 * Compiles the filter of a segment. Throws Problem `not_found` if its list was deleted, `invalid` if the filter names
 * something that no longer exists, or contains itself.
 */
export const compileSegment = async (
  work: Work,
  { id, name, listId, where }: SegmentView,
  within?: Within,
): Promise<Matcher> => {
  const [row] = await work.sql(readNames, { accountId: work.accountId, id })
  const { segments = [], counted = { comparisons: 0 }, at } = within ?? {}
  try {
    return await compileFilter(work, where, listId, row?.names, { segments: [...segments, id], counted, at })
  } catch (error) {
    if (!(error instanceof Problem) || error.kind !== 'not_found') throw error
    throw notFound(`The list of the segment ${shown(name)} was deleted`, { hint: `svc segments delete ${shown(name)}` })
  }
}

const anyColumn = { has: () => true, [Symbol.iterator]: () => [].values() }

/** Replaces each name in a filter that stands for one id by this id. Returns the filter as it is if it becomes too long. */
const replaceNames = (text: string, written: readonly Named[], ids: FilterNames): string => {
  const characters = [...text]
  for (const [i, { column, length }] of [...written.entries()].toSorted(([, a], [, b]) => b.column - a.column)) {
    const [id, ...more] = ids[i]!
    if (id !== undefined && more.length === 0) characters.splice(column - 1, length, ...id)
  }
  return characters.length > filterMaxLength ? text : characters.join('')
}

/** Compiles a segment that a filter names. Reports a refusal as a mistake at the column of the name. */
const compileUsed = async (work: Work, id: string, { column }: Named, within: Within): Promise<Used> => {
  const segment = await findSegment(work, id)
  try {
    if (within.segments.includes(id)) throw invalid('it contains itself')
    return { listId: segment.listId, matcher: await compileSegment(work, segment, within) }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    throw mistake(column, `the segment ${shown(segment.name)} can't be used: ${error.message}`)
  }
}

const readVocabulary = async (work: Work) => {
  const { terms: later, findScope } = await work.filterParts()
  const terms = new Map([verification, list, ...later].map((term) => [term.name, term]))
  const kinds = new Map<string, TermKind>([...Object.entries(own), ...terms, [segmentTerm, { kind: 'set' }]])
  return { terms, kinds, findScope }
}

/**
 * Runs an operation that takes a filter. If the operation throws Problem `not_found` or `conflict`, and the filter has a mistake that
 * does not depend on the columns of a list, throws that mistake instead (docs/reference/api.md#order-of-checks).
 */
export const mistakesFirst = async <Out>(
  work: Work,
  text: string | undefined,
  run: () => Promise<Out>,
): Promise<Out> => {
  try {
    return await run()
  } catch (error) {
    if (text !== undefined && error instanceof Problem && (error.kind === 'not_found' || error.kind === 'conflict'))
      parseFilter(text, { terms: (await readVocabulary(work)).kinds, columns: anyColumn })
    throw error
  }
}

/**
 * Compiles a filter for contacts of a list, or of any list. `stored` says what the names of a stored filter stand for. Throws
 * Problem `invalid` with the column of the first mistake.
 */
export const compileFilter = async (
  work: Work,
  text: string,
  listId: string | null,
  stored: FilterNames | null = null,
  within: Within = { segments: [], counted: { comparisons: 0 } },
): Promise<Matcher> => {
  const { accountId } = work
  const now = within.at ?? work.now
  const { terms, kinds, findScope } = await readVocabulary(work)
  const { isAnyField = false } = within
  const listed = async () => (listId === null ? listLists(work) : [await requireList(work, listId)])
  const columns = isAnyField ? anyColumn : new Set((await listed()).flatMap(({ fields }) => fields))
  const filter = parseFilter(text, { terms: kinds, columns })
  const comparisons = comparisonsIn(filter)
  within.counted.comparisons += comparisons.length
  if (within.counted.comparisons > maxComparisons)
    throw invalid(`a filter has at most ${maxComparisons} comparisons, with those of its segments`)
  const ids = new Map<Named, readonly string[]>()
  const scopes = new Map<Named, Scope>()
  const used = new Map<string, Used>()
  const names: (readonly string[])[] = []
  const written: Named[] = []
  for (const { term, scope, test } of comparisons) {
    if (scope) {
      const found = joinScopes(await resolve(scope, stored?.[names.length], (ref) => findScope(work, ref)))
      scopes.set(scope, found)
      names.push(found.ids)
      written.push(scope)
    }
    if (test.is !== 'names') continue
    for (const name of test.values) {
      const find = async (ref: string) =>
        term === segmentTerm ? [(await findSegment(work, ref)).id] : terms.get(term)!.find!(work, ref)
      const found = (await resolve(name, stored?.[names.length], find)).flat()
      ids.set(name, found)
      names.push(found)
      written.push(name)
      if (term === segmentTerm) for (const id of found) used.set(id, await compileUsed(work, id, name, within))
    }
  }
  const idsOf = (name: Named) => ids.get(name)!

  /** Compares a value of the contact's own row. */
  const ownValue = ({ term, field, parameter, test }: Comparison, c: string, bind: Bind): string => {
    if (field !== null)
      return valueTest(test, 'text', `coalesce(${c}.fields ->> ${bind(field)}::text, '')`, bind, idsOf)!
    const { kind, sql } = own[term]!
    // Every contact has a value.
    if (test.is === 'missing') return 'false'
    const value = sql(c, () => `${bind(parameter)}::text`)
    if (kind !== 'time') return valueTest(test, kind, value, bind, idsOf)!
    const { from, to } = rangeOf(test, now.getTime())
    const limits = [
      ...(from === undefined ? [] : [`${value} >= ${bind(new Date(from))}::timestamptz`]),
      ...(to === undefined ? [] : [`${value} < ${bind(new Date(to))}::timestamptz`]),
    ]
    return `(${limits.join(' and ')})`
  }

  /** Compares rows of addresses. `isAmong` returns the condition that the contact's address is among those of a query. */
  const ofRows = (
    { parameter, scope, test }: Comparison,
    term: Term,
    bind: Bind,
    isAmong: (of: { email: string; rowId?: string }, query: (only: string) => string) => string,
  ): string => {
    // Every address has a value. Returns before a parameter is bound: PostgreSQL refuses parameters that no condition uses.
    if (test.is === 'missing' && term.missing !== undefined) return 'false'
    const account = `${bind(accountId)}::text`
    const time = () => `${bind(now)}::timestamptz`
    const asked = { account, now: time, scope: scope && scopes.get(scope)!, parameter, bind }
    const { from, where, email, value, ...of } = term.rows(asked)
    const among = (condition: string, having = '') =>
      isAmong(
        { email, ...of },
        (only) =>
          `from ${from} where ${where} and ${condition} and ${only} group by ${email}${having && ` having ${having}`}`,
      )
    if (term.kind === 'time' && test.is !== 'missing') {
      const { from: first, to: end } = rangeOf(test, now.getTime())
      return among(
        first === undefined ? 'true' : `${value} >= ${bind(new Date(first))}::timestamptz`,
        end === undefined ? '' : `max(${value}) < ${bind(new Date(end))}::timestamptz`,
      )
    }
    if (term.countAll) {
      if (test.is === 'names') {
        const ids = [...new Set(test.values.flatMap(idsOf))]
        return `not ${among(`${value} = any(${bind(ids)}::text[])`, `count(distinct ${value}) = ${ids.length}`)}`
      }
      const all = `(${term.countAll(asked)})`
      return `(${all} = 0 or ${among('true', `count(distinct ${value}) = ${all}`)})`
    }
    const met = valueTest(test, term.kind, value, bind, idsOf)
    const conditions = [
      ...(holdsForNone(test, term.missing) ? [`not ${among('true')}`] : []),
      ...(met === null ? [] : [among(met)]),
    ]
    return conditions.length === 0 ? 'false' : `(${conditions.join(' or ')})`
  }

  /** Returns the condition that a contact is in one of the segments. `isIn` returns it for a single segment. */
  const inSegments = ({ test }: Comparison, isIn: (used: Used) => string): string => {
    if (test.is !== 'names') throw new Error(`A segment is not compared with ${test.is}`)
    return `(${test.values
      .flatMap(idsOf)
      .map((id) => isIn(used.get(id)!))
      .join(' or ')})`
  }

  /** The contacts of segments in this filter. Other filters around it have other names. */
  const inner = `c${within.segments.length + 1}`

  const membersOf = ({ listId }: Used, bind: Bind): string =>
    contactsOfList(`${bind(accountId)}::text`, `${bind(listId)}::text`, inner)

  const compile = (leaf: (comparison: Comparison) => string): string =>
    combine(filter, (comparison) => leaf({ ...comparison, test: atTime(comparison.test, now.getTime()) }))

  const isOwn = ({ term, field }: Comparison) => field !== null || Object.hasOwn(own, term)

  return {
    names,
    withIds: replaceNames(text, written, names),
    segments: [...used].flatMap(([id, { matcher }]) => [id, ...matcher.segments]),
    condition: (bind, c = 'c') =>
      compile((comparison) => {
        if (isOwn(comparison)) return ownValue(comparison, c, bind)
        // `offset 0` makes PostgreSQL look up each contact by its address, whatever its statistics say.
        if (comparison.term === segmentTerm)
          return inSegments(comparison, (one) => {
            const from = `from ${membersOf(one, bind)} where ${inner}.row_id = ${c}.row_id`
            return `exists (select ${from} and ${one.matcher.condition(bind, inner)} offset 0)`
          })
        return ofRows(comparison, terms.get(comparison.term)!, bind, ({ email, rowId }, query) => {
          const isOf = rowId === undefined ? `${email} = ${c}.email` : `${rowId} = ${c}.row_id`
          return `exists (select ${query(isOf)} offset 0)`
        })
      }),
    sets(bind, c = 'c') {
      const joins: string[] = []
      const isAmong = (email: string, query: string): string => {
        const name = `s${joins.length}`
        joins.push(`left join (select ${email} as email ${query}) ${name} on ${name}.email = ${c}.email`)
        return `${name}.email is not null`
      }
      const condition = compile((comparison) => {
        if (isOwn(comparison)) return ownValue(comparison, c, bind)
        if (comparison.term === segmentTerm)
          return inSegments(comparison, (one) => {
            const from = membersOf(one, bind)
            const { joins, condition } = one.matcher.sets(bind, inner)
            return isAmong(`${inner}.email`, `from ${from} ${joins} where ${condition}`)
          })
        return ofRows(comparison, terms.get(comparison.term)!, bind, ({ email }, query) =>
          isAmong(email, query('true')),
        )
      })
      return { joins: joins.join(' '), condition }
    },
  }
}
