/** The PostgreSQL types that node-postgres, as database.ts sets it, reads as a value of type `Value`. */
type ColumnType<Value> = unknown extends Value
  ? 'text' | 'json' | 'jsonb'
  : [NonNullable<Value>] extends ['']
    ? 'void'
    : [NonNullable<Value>] extends [string]
      ? 'text' | 'numeric'
      : [NonNullable<Value>] extends [number]
        ? 'int2' | 'int4' | 'int8' | 'float8'
        : [NonNullable<Value>] extends [boolean]
          ? 'bool'
          : [NonNullable<Value>] extends [Date]
            ? 'timestamptz'
            : [NonNullable<Value>] extends [Buffer]
              ? 'bytea'
              : [NonNullable<Value>] extends [readonly string[]]
                ? '_text' | 'json' | 'jsonb'
                : [NonNullable<Value>] extends [readonly boolean[]]
                  ? '_bool' | 'json' | 'jsonb'
                  : 'json' | 'jsonb'

/** A statement of fixed text. test/store/statements.test.ts prepares each declared one and compares its columns. */
export interface Statement<Row extends object> {
  readonly name: string
  readonly text: string
  /** Each column of its rows with the type that PostgreSQL reports, as pg_type names it. Empty: it returns no columns. */
  readonly columns: { readonly [Column in keyof Row]-?: ColumnType<Row[Column]> }
  /** Whether it stays prepared, under its name, on each connection that ran it. */
  readonly isPrepared: boolean
}

/** All declared statements of the loaded modules, by name. */
export const statements = new Map<string, Statement<object>>()

const declareStatement =
  (isPrepared: boolean) =>
  <Row extends object = Record<never, never>>(
    name: string,
    columns: Statement<Row>['columns'],
    text: string,
  ): Statement<Row> => {
    if (statements.has(name)) throw new Error(`Two statements are named ${name}`)
    const declared = { name, columns, text, isPrepared }
    statements.set(name, declared)
    return declared
  }

/**
 * Declares a statement that the server plans at each run, with the values of its parameters. `Row` is the row it returns, and
 * `columns` repeats its shape in PostgreSQL's types. Throws if two statements share a name.
 */
export const statement = declareStatement(false)

/** Declares a statement of a hot path, as `statement` does. It stays prepared on each connection, and may get one plan for all values. */
export const preparedStatement = declareStatement(true)
