/** What node-postgres, as database.ts sets it, reads for each PostgreSQL type. */
interface Values {
  text: string
  numeric: string
  uuid: string
  date: string
  int2: number
  int4: number
  int8: number
  float8: number
  bool: boolean
  timestamptz: Date
  bytea: Buffer
  _text: string[]
  _int4: number[]
  _int8: number[]
  _float8: number[]
  _bool: boolean[]
  _timestamptz: Date[]
  _bytea: Buffer[]
  _date: string[]
  _numeric: string[]
  _jsonb: unknown[]
  json: unknown
  jsonb: unknown
  tstzmultirange: string
  void: ''
}

type TypeName = keyof Values

declare const value: unique symbol

/** A PostgreSQL type whose values have a narrower type than it says. */
export type Typed<Value> = string & { readonly [value]: Value }

/** A PostgreSQL type, as pg_type names it; with `?` if the value may be null. */
type Type = TypeName | `${TypeName}?` | Typed<unknown>

/** Names with their types, for the columns of a row or the parameters of a statement. */
export type TypeMap = Readonly<Record<string, Type>>

/** Returns a type without its `?`, as pg_type names it. */
export const bareType = (type: string): string => type.replace('?', '')

/** Says which values a type has: those of a column that is restricted, or of JSON. */
export const typed = <Value>(type: TypeName): Typed<Exclude<Value, undefined>> =>
  type as string as Typed<Exclude<Value, undefined>>

type ValueOf<T> = T extends { readonly [value]: infer Value }
  ? Value
  : T extends `${infer Name extends TypeName}?`
    ? Values[Name] | null
    : T extends TypeName
      ? Values[T]
      : never

/** A row that has the columns. A `date` would be read in the time zone of the process: select it as text. */
export type RowOf<Columns extends TypeMap> = {
  -readonly [Name in keyof Columns]: Columns[Name] extends 'date' | 'date?' ? never : ValueOf<Columns[Name]>
}

type Given<Value> = Value extends readonly (infer Item)[] ? readonly Item[] : Value

/** The values that a call passes for the parameters. */
export type ValuesOf<Parameters extends TypeMap> = keyof Parameters extends never
  ? readonly never[]
  : { readonly [Name in keyof Parameters]: Given<ValueOf<Parameters[Name]>> }
