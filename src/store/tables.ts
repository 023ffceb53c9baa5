import { isDeepStrictEqual } from 'node:util'
import type { RowOf, TypeMap } from './column-types.ts'

/** A table with its columns, by the names of their properties. `x.columns.ts` has those of the entities in `x.entities.ts`. */
interface Table<Columns extends TypeMap> {
  readonly name: string
  readonly columns: Columns
}

export const table = <const Columns extends TypeMap>(name: string, columns: Columns): Table<Columns> => ({
  name,
  columns,
})

/** The SQL name of a property's column: `stage_id` of `stageId`. */
export const columnOf = (property: string): string => property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

type Some<Columns extends TypeMap> = { readonly [Name in keyof Columns]?: RowOf<Columns>[Name] | undefined }

/** Some columns of a table. */
interface Columns<Picked extends TypeMap> {
  /** The SQL select list, with each column under the name of its property. */
  readonly list: string
  /** The SQL list of the columns' own names, for an insert. */
  readonly names: string
  /** The SQL list of a parameter for each. */
  readonly values: string
  /** The SQL list of assignments, for an update. Each column gets the parameter of its name. */
  readonly set: string
  /** Their types, for a row or for parameters. */
  readonly types: Picked
  /** Returns the value of each column: that of `change`, else that of `before`, else null. */
  after(before: Some<Picked>, change: Some<Picked>): RowOf<Picked>
  /** Whether the columns have the same values in both rows. */
  isSame(a: RowOf<Picked>, b: RowOf<Picked>): boolean
}

/** Returns columns of a table, of which `alias` is the alias in the statement. */
export const columns = <Of extends TypeMap, Name extends keyof Of & string>(
  { columns: all }: Table<Of>,
  properties: readonly Name[],
  alias?: string,
): Columns<Pick<Of, Name>> => {
  const of = (property: string) => (alias ? `${alias}.${columnOf(property)}` : columnOf(property))
  const each = (sql: (property: string) => string) => properties.map(sql).join(', ')
  return {
    list: each((property) => (columnOf(property) === property ? of(property) : `${of(property)} as "${property}"`)),
    names: each(columnOf),
    values: each((property) => `:${property}`),
    set: each((property) => `${columnOf(property)} = :${property}`),
    types: Object.fromEntries(properties.map((property) => [property, all[property]])) as Pick<Of, Name>,
    after: (before, change) =>
      Object.fromEntries(
        properties.map((property) => [
          property,
          change[property] === undefined ? (before[property] ?? null) : change[property],
        ]),
      ) as RowOf<Pick<Of, Name>>,
    isSame: (a, b) => properties.every((property) => isDeepStrictEqual(a[property], b[property])),
  }
}

/** Returns the types of columns, for the parameters of a statement. */
export const types = <Of extends TypeMap, Name extends keyof Of & string>(
  of: Table<Of>,
  ...properties: readonly Name[]
): Pick<Of, Name> => columns(of, properties).types

export type Row<Of extends Table<TypeMap>, Name extends keyof Of['columns']> = RowOf<Pick<Of['columns'], Name>>
