interface Values {
  text: string
  int: number
  boolean: boolean
}

/** A row with a value, or null, for each column. */
type Row<Columns extends Readonly<Record<string, keyof Values>>> = {
  readonly [Name in keyof Columns]: Values[Columns[Name]] | null
}

/**
 * Declares rows that a statement takes as parameters: one array for each column, the first one as parameter number `first`. The
 * statement names the columns instead of counting parameters.
 */
export const rowset = <const Columns extends Readonly<Record<string, keyof Values>>>(
  first: number,
  columns: Columns,
) => {
  const names = Object.keys(columns)
  const arrays = names.map((name, i) => `$${first + i}::${columns[name]}[]`).join(', ')
  return {
    /** Returns an SQL from item: the rows, with their place from 1 on as the column `n`. */
    as: (alias: string): string => `unnest(${arrays}) with ordinality as ${alias}(${names.join(', ')}, n)`,
    /** Returns the parameters, in their order. */
    params: (rows: readonly Row<Columns>[]): unknown[][] => names.map((name) => rows.map((row) => row[name])),
  }
}
