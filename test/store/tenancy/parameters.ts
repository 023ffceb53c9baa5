import type { Statement } from '../../../src/store/statement.ts'
import { type Content, idOf, now, type Table } from './content.ts'

/*
 * Finds values for the parameters of a statement. Its text says what each is for: the columns that it is compared with, inserted into
 * or stored in. The values are those that account m has in these columns.
 */

/** What a parameter is for. */
interface Use {
  /**
   * Which value of the column it gets: that of the set, that of another set, the least or the largest possible one, or one that
   * no row has.
   */
  value: 'own' | 'another' | 'least' | 'largest' | 'new'
  column: string
  /** The table of the column, if the text says it. */
  table?: string | undefined
  /** Of an array for unnest(): the name of its elements. */
  element?: string
  /** Of JSON for jsonb_to_recordset(): the names and types of its properties. */
  properties?: [name: string, type: string][]
}

/** A parameter that always has the same value. */
interface Constant {
  constant: unknown
}

export interface Parameters {
  types: string[]
  uses: (Use | Constant | undefined)[]
  /** Whether the statement says what null means, by parameter. */
  isOptional: boolean[]
  /** The tables of accounts that the statement names, in this order. */
  tables: Table[]
}

interface Text {
  text: string
  /** The table that each name or alias in the text stands for. */
  aliases: Map<string, string>
}

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Splits a list at the commas outside of brackets. The list ends at a closing bracket or a clause. */
const itemsOf = (text: string): string[] => {
  const items = ['']
  let depth = 0
  for (const [i, letter] of [...text].entries()) {
    if (depth === 0 && (letter === ')' || /^ (from|where|on conflict|returning) /.test(text.slice(i)))) break
    if ('(['.includes(letter)) depth++
    if (')]'.includes(letter)) depth--
    if (letter === ',' && depth === 0) items.push('')
    else items.push(items.pop()! + letter)
  }
  return items.map((item) => item.trim())
}

/** The table that the text names last before a place. */
const tableBefore = ({ text, aliases }: Text, place: number): string | undefined =>
  [...text.slice(0, place).matchAll(/\b(?:from|join|update|into) (\w+)/g)]
    .map(([, name]) => name!)
    .findLast((name) => aliases.has(name))

/** The place of a column with or without an alias in a match of a pattern whose first two groups they are. */
const columnAt = (statement: Text, match: RegExpExecArray): { table: string | undefined; column: string } => {
  const [, alias, column] = match
  const table = alias ? statement.aliases.get(alias) : tableBefore(statement, match.index)
  return { table, column: snake(column!) }
}

const valueAfter = (operator: string): Use['value'] => {
  if (operator === '<>' || operator === 'is distinct from') return 'another'
  if (operator.startsWith('<')) return 'largest'
  return operator.startsWith('>') ? 'least' : 'own'
}

/** Whether the last clause that begins before a place of the text is the `set` of an update. */
const isInSet = (text: string, place: number): boolean =>
  /^.*\b(set|where|from|on|and|or|select)\b/.exec(text.slice(0, place))?.[1] === 'set'

const inRecords = ({ text }: Text, place: string): Use | undefined => {
  const [, list] = new RegExp(`json\\w*_to_recordset\\(${place}::jsonb\\) as \\w+ ?\\(([^)]*)\\)`).exec(text) ?? []
  const properties = list && itemsOf(list).map((item) => item.replaceAll('"', '').split(' ') as [string, string])
  return properties ? { value: 'own', column: '', properties } : undefined
}

const inInsert = ({ text }: Text, place: string): Use | undefined => {
  const inserts = text.matchAll(/\binsert into (\w+)(?: as \w+)? ?\(([^)]*)\) ?(?:values ?\(|select )(.*)/g)
  for (const [, table, columns, list] of inserts) {
    const at = itemsOf(list!).findIndex((item) => new RegExp(`^(coalesce\\()?${place}`).test(item))
    const column = columns!.split(',')[at]?.trim()
    if (column) return { value: 'new', table, column }
  }
  return undefined
}

const inRowComparison = (statement: Text, place: string): Use | undefined => {
  const comparisons = statement.text.matchAll(/\(([\w., ]+)\) ?([<>]=?|<>|is distinct from) ?\(([^()]*)\)/g)
  for (const [, columns, operator, list] of comparisons) {
    const at = itemsOf(list!).findIndex((item) => new RegExp(`^${place}`).test(item))
    const column = /(?:(\w+)\.)?(\w+)$/.exec(itemsOf(columns!)[at] ?? '')
    if (column) return { value: valueAfter(operator!), ...columnAt(statement, column) }
  }
  return undefined
}

const inUnnest = (statement: Text, place: string): Use | undefined => {
  const { text } = statement
  for (const [, after] of text.matchAll(/\bunnest\((.*)/g)) {
    const items = itemsOf(after!)
    const at = items.findIndex((item) => new RegExp(place).test(item))
    const rest = after!.slice(items.join(', ').length)
    const named = /^\)(?: with ordinality)?(?: as)? (\w+)(?: ?\(([^)]*)\))?/.exec(rest)
    if (at < 0 || !named) continue
    const [, alias, names] = named
    const element = names ? names.split(',')[at]!.trim().replaceAll('"', '') : alias!
    // A column that is compared with the elements.
    const compared = new RegExp(`(?:(\\w+)\\.)?(\\w+) = (?:${alias}\\.)?"?${element}"?\\b`).exec(text)
    const column = compared ? columnAt(statement, compared) : { column: snake(element) }
    return { value: 'own', element, ...column }
  }
  return undefined
}

const inComparison = (statement: Text, place: string): Use | Constant | undefined => {
  const { text } = statement
  const match = (pattern: string) => new RegExp(pattern).exec(text)
  const before = `(?:(\\w+)\\.)?"?(\\w+)"?\\)*(?: \\|\\| '')? ?(=|<>|<=|>=|<|>) ?(any|all)? ?`
  const compared = match(`${before}(?:coalesce|least|greatest)?\\(*(?:select )?${place}`)
  if (compared) {
    const [, , , operator, quantifier] = compared
    if (operator === '<>' && quantifier === 'all') return { constant: [] }
    const value = operator === '=' && isInSet(text, compared.index) ? 'another' : valueAfter(operator!)
    return { value, ...columnAt(statement, compared) }
  }
  if (match(`not in \\(select unnest\\(${place}`)) return { constant: [] }
  const [, literal] = match(`${place}(?:::\\w+)? = '([^']*)'`) ?? []
  if (literal !== undefined) return { constant: literal }
  // Addresses are looked for in texts.
  if (match(`(?:strpos\\((?:lower\\()?\\w+\\)?, |~\\*? )${place}`))
    return { value: 'own', table: 'addresses', column: 'email' }
  return match(`${place}::[\\w\\[\\]]+ is null`) ? { constant: null } : undefined
}

const inFunction = ({ text }: Text, place: string): Use | undefined =>
  new RegExp(`account_works\\(${place}|hashtextextended\\('[\\w :]*' \\|\\| ${place}`).test(text)
    ? { value: 'own', column: 'account_id' }
    : undefined

const keywords = new Set(
  'where set on cross left right inner join order group limit using returning values select for union with offset'.split(
    ' ',
  ),
)

const aliasesIn = (text: string, tables: readonly Table[]): Map<string, string> => {
  const aliases = new Map(tables.map(({ name }) => [name, name]))
  for (const [, table, alias] of text.matchAll(/\b(?:from|join|update|into|using) (\w+)(?: as)?(?: (\w+))?/g)) {
    if (alias && aliases.has(table!) && !keywords.has(alias) && !aliases.has(alias)) aliases.set(alias, table!)
  }
  return aliases
}

export const parametersOf = (declared: Statement<object>, types: string[], all: readonly Table[]): Parameters => {
  const text = declared.text.replace(/\s+/g, ' ')
  const named = [...text.matchAll(/\b(?:from|join|update|into|using) (\w+)/g)].flatMap(([, name]) =>
    // A view of both tables.
    name === 'deliveries' ? ['pending_deliveries', 'ended_deliveries'] : [name],
  )
  const tables = [...new Set(named)].flatMap((name) => all.find((table) => table.name === name) ?? [])
  const statement = { text, aliases: aliasesIn(text, tables) }
  const uses = types.map((_, i) => {
    const place = `\\$${i + 1}(?!\\d)`
    const finders = [inRecords, inInsert, inRowComparison, inUnnest, inComparison, inFunction]
    return finders.reduce<Use | Constant | undefined>((found, find) => found ?? find(statement, place), undefined)
  })
  const isOptional = uses.map((use, i) => {
    const element = use && 'element' in use ? `|\\b${use.element}` : ''
    return new RegExp(`(?:\\$${i + 1}::[\\w[\\]]+${element}) is null or`).test(text)
  })
  return { types, uses, isOptional, tables }
}

const bounds: Record<string, [least: unknown, largest: unknown]> = {
  text: ['', 'zzzz'],
  timestamptz: ['2000-01-01T00:00:00Z', '2100-01-01T00:00:00Z'],
  date: ['2000-01-01', '2100-01-01'],
  int4: [-1, 1_000_000],
  int8: [-1, 1_000_000],
  float8: [-1, 1_000_000],
}

/** Values of parameters of which the text says nothing. */
const plain: Record<string, unknown> = {
  text: 'x',
  timestamptz: now,
  bool: true,
  int4: 1000,
  int8: 1000,
  float8: 1,
  jsonb: {},
}

/** The names of types in the column lists of records. */
const typeNames: Record<string, string> = { int: 'int4', boolean: 'bool', 'text[]': '_text' }

/** A value of the same kind that no row has. */
const renewed = (value: unknown): unknown => {
  if (typeof value === 'number') return value + 1000
  if (typeof value !== 'string') return value
  if (/^\d{4}-\d\d-\d\d/.test(value)) return value.replace(/^\d{4}/, '2031')
  const [, noun] = /^(\w+)_01k0000000m\d{15}$/.exec(value) ?? []
  return noun ? idOf(noun, 900) : `${value} new`
}

/** Whether a new row must differ from others in this column. */
const mustBeNew = ({ key, columns }: Table, column: string): boolean => {
  const { type, allowed } = columns.find(({ name }) => name === column)!
  if (allowed || type === 'bool' || column === 'account_id') return false
  return (
    column === 'id' || column === 'name' || column === key.at(-1) || (key.includes(column) && !column.endsWith('_id'))
  )
}

/** Returns the values of the parameters in set k of account m. With `isNew`, rows that the statement inserts have keys of their own. */
export const valuesOf = (
  { types, uses, tables }: Parameters,
  content: Content,
  k: number,
  isNew: boolean,
): unknown[] => {
  const cell = (table: string, column: string, set = k): unknown => {
    const rows = content.get(table)!
    return rows[set % rows.length]![column]
  }
  const find = ({ table, column }: Use): { table: string; column: string } | undefined => {
    if (column === 'account_id' || column === 'account') return { table: 'accounts', column: 'id' }
    if (table && content.get(table)![0]![column] !== undefined) return { table, column }
    // What statements call a column may lack the end or the beginning of its name.
    for (const isMeant of [
      (name: string) => name === column,
      (name: string) => name === `${column}_id`,
      (name: string) => name.endsWith(`_${column}`),
    ]) {
      for (const { name: own, columns } of tables) {
        const found = columns.find(({ name }) => isMeant(name))
        if (found) return { table: own, column: found.name }
      }
    }
    return undefined
  }
  const valueFor = (use: Use, type: string): unknown => {
    const { value, properties } = use
    if (properties) {
      const entries = properties.map(([name, own]) => {
        const column: Use = { value: 'own', column: snake(name) }
        return [name, valueFor(column, typeNames[own] ?? own)]
      })
      return [Object.fromEntries(entries)]
    }
    if (value === 'least') return bounds[type]?.[0] ?? plain[type]
    if (value === 'largest') return bounds[type]?.[1] ?? plain[type]
    const place = find(use)
    if (!place) return plain[type.replace(/^_/, '')]
    const own = cell(place.table, place.column, value === 'another' ? k + 4 : k)
    if (/^(float8|numeric|int\d)$/.test(type) && typeof own === 'string') return Date.parse(own)
    const table = tables.find(({ name }) => name === place.table)
    return isNew && value === 'new' && table && mustBeNew(table, place.column) ? renewed(own) : own
  }
  return types.map((type, i) => {
    const use = uses[i]
    if (use && 'constant' in use) return use.constant
    const value = use ? valueFor(use, type) : plain[type.replace(/^_/, '')]
    return type.startsWith('_') && !Array.isArray(value) ? [value] : value
  })
}
