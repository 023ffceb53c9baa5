import { opaqueArray } from './arrays.ts'
import { bareType, type RowOf, type Typed, type TypeMap } from './column-types.ts'
import { columnOf } from './tables.ts'

/** The parameters of a rowset: an array for each column. */
type Arrays<Columns extends TypeMap> = { readonly [Name in keyof Columns]: Typed<RowOf<Columns>[Name][]> }

/** Rows that a statement takes as parameters: one array for each column, under the column's name. */
export const rowset = <const Columns extends TypeMap>(columns: Columns) => {
  const names = Object.keys(columns)
  const types = names.map((name) => bareType(columns[name]!))
  // If the planner saw how few rows there are, it would make a new plan for each execution.
  const arrays = names.map((name, i) => (i === 0 ? opaqueArray(`:${name}`, types[i]) : `:${name}::${types[i]}[]`))
  return {
    /** The types of the arrays, for the statement's parameters. */
    parameters: Object.fromEntries(names.map((name) => [name, `_${bareType(columns[name]!)}`])) as Arrays<Columns>,
    /** Returns an SQL from item: the rows, with their place from 1 on as the column `n`. */
    as: (alias: string): string =>
      `unnest(${arrays.join(', ')}) with ordinality as ${alias}(${names.map(columnOf).join(', ')}, n)`,
    /** Returns what a call passes for the parameters. */
    values: (rows: readonly RowOf<Columns>[]) =>
      Object.fromEntries(names.map((name) => [name, rows.map((row) => row[name])])) as {
        [Name in keyof Columns]: RowOf<Columns>[Name][]
      },
  }
}
