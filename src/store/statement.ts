import { bareType, type RowOf, type TypeMap, type ValuesOf } from './column-types.ts'

/** A statement of fixed text. test/store/statements.test.ts prepares each declared one and compares its columns and parameters. */
export interface Statement<Row extends object, Values extends object = object> {
  readonly name: string
  /** Its SQL, with numbered parameters. */
  readonly text: string
  /** Each column of its rows with the type that PostgreSQL reports, as pg_type names it. It is empty for a statement without rows. */
  readonly columns: { readonly [Column in keyof Row]-?: string }
  /** Its parameters with their types, in the order of their numbers. */
  readonly parameters: readonly (readonly [name: string, type: string])[]
  /** Whether it stays prepared, under its name, on each connection that ran it. */
  readonly isPrepared: boolean
  /** The type of what a call passes. Always absent. */
  readonly takes?: Values
}

/** All declared statements of the loaded modules, by name. */
export const statements = new Map<string, Statement<object>>()

/**
 * What may contain a colon that starts no parameter: texts, quoted names, comments, texts in dollars, casts and assignments. A slice has
 * its colon after a value (`[1:n]`).
 */
const others = [
  String.raw`\b[eE]'(?:[^'\\]|\\.|'')*'`,
  `'(?:[^']|'')*'`,
  `"(?:[^"]|"")*"`,
  String.raw`--[^\n]*`,
  String.raw`/\*[\s\S]*?\*/`,
  String.raw`\$(\w*)\$[\s\S]*?\$\1\$`,
  '::',
  ':=',
]
const token = new RegExp(String.raw`${others.join('|')}|(?<![\w\])]):([a-zA-Z]\w*)|\$\d+`, 'g')

/**
 * Returns SQL with numbered parameters (`$1`) for SQL that names them (`:title`), numbered in the order of `names`. Throws if the SQL
 * names others, numbers one itself, or lacks one of the names.
 */
export const compiled = (statement: string, sql: string, names: readonly string[]): string => {
  const numbers = new Map(names.map((name, i) => [name, `$${i + 1}`]))
  const unused = new Set(names)
  const text = sql.replace(token, (found: string, _tag: string | undefined, name: string | undefined) => {
    if (/^\$\d/.test(found)) throw new Error(`The statement ${statement} numbers a parameter: ${found}`)
    if (name === undefined) return found
    const number = numbers.get(name)
    if (number === undefined) throw new Error(`The statement ${statement} declares no parameter ${name}`)
    unused.delete(name)
    return number
  })
  if (unused.size > 0) throw new Error(`The SQL of the statement ${statement} lacks :${[...unused].join(', :')}`)
  return text
}

interface Declaration<Row extends TypeMap, Parameters extends TypeMap> {
  /** The columns of its rows. A statement without rows has none. */
  row?: Row
  /** The parameters that its SQL names (`:title`). A call passes an object with a value for each. */
  parameters?: Parameters
}

type Build = <
  const Row extends TypeMap = Record<never, never>,
  const Parameters extends TypeMap = Record<never, never>,
>(
  name: string,
  declaration: Declaration<Row, Parameters>,
  text: string,
) => Statement<RowOf<Row>, ValuesOf<Parameters>>

const bare = (types: TypeMap): [name: string, type: string][] =>
  Object.entries(types).map(([name, type]) => [name, bareType(type)])

const build = (isPrepared: boolean): Build => {
  const built = (name: string, { row = {}, parameters = {} }: Declaration<TypeMap, TypeMap>, sql: string) => ({
    name,
    text: compiled(name, sql, Object.keys(parameters)),
    columns: Object.fromEntries(bare(row)),
    parameters: bare(parameters),
    isPrepared,
  })
  return built as Build
}

const declareStatement = (isPrepared: boolean): Build => {
  const declare: Build = (name, declaration, sql) => {
    if (statements.has(name)) throw new Error(`Two statements are named ${name}`)
    const declared = build(isPrepared)(name, declaration, sql)
    statements.set(name, declared as Statement<object>)
    return declared
  }
  return declare
}

/**
 * Declares a statement that the server plans at each run, with the values of its parameters. Throws if two statements share a name, or
 * if its SQL and its declaration name different parameters.
 */
export const statement = declareStatement(false)

/** Declares a statement of a hot path, as `statement` does. It stays prepared on each connection, and may get one plan for all values. */
export const preparedStatement = declareStatement(true)

/** Returns a prepared statement whose text is composed at run time. It is not among `statements`. */
export const composedStatement = build(true)

/** Returns the values that a call passes for a query, in the order of their numbers. Text takes an array. */
export const valuesOf = (query: string | Statement<object, object>, values: object = []): unknown[] =>
  typeof query === 'string'
    ? (values as unknown[])
    : query.parameters.map(([name]) => (values as Readonly<Record<string, unknown>>)[name])
