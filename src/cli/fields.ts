import { Problem } from '../lib/problem.ts'
import { cellOf, headingOf } from './cells.ts'
import type { Column } from './output.ts'

/** Throws Problem `usage` that names what there is, where a field of `--fields` is none of `things`' properties. */
const demandKnown = (fields: readonly string[], things: readonly object[]): void => {
  const known = new Set(things.flatMap(Object.keys))
  const unknown = fields.filter((field) => !known.has(field))
  // Nothing has no properties, so that nothing can be said of them.
  if (things.length === 0 || unknown.length === 0) return
  throw new Problem('usage', `There is no field ${unknown.join(', ')}: choose of ${[...known].join(', ')}`)
}

const propertyOf = (thing: object, field: string) => (thing as Record<string, unknown>)[field]

/** The rows with the properties of `--fields` alone, in their order. */
export const chosenRows = (rows: readonly object[], fields: readonly string[] | null): readonly object[] => {
  if (!fields) return rows
  demandKnown(fields, rows)
  return rows.map((row) =>
    Object.fromEntries(fields.flatMap((field) => (Object.hasOwn(row, field) ? [[field, propertyOf(row, field)]] : []))),
  )
}

/** A column for each of `--fields`, named by the property. */
export const chosenColumns = <Row extends object>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  fields: readonly string[] | null,
): readonly Column<Row>[] => {
  if (!fields) return columns
  demandKnown(fields, rows)
  return fields.map((field) => [headingOf(field), (row) => cellOf(field, propertyOf(row, field))])
}
