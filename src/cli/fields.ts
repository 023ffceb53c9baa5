import { Problem } from '../lib/problem.ts'
import { cellOf, headingOf } from './cells.ts'
import type { Column } from './output.ts'

type Fields = readonly string[] | null

/** Throws Problem `usage` that names what there is, where a field of `--fields` is no property of any of `things`. */
export const demandKnown = (things: readonly object[], fields: Fields): void => {
  const known = new Set(things.flatMap(Object.keys))
  const unknown = fields?.filter((field) => !known.has(field)) ?? []
  // Nothing has no properties, so that nothing can be said of them.
  if (things.length === 0 || unknown.length === 0) return
  throw new Problem('usage', `There is no field ${unknown.join(', ')}: choose of ${[...known].join(', ')}`)
}

const propertyOf = (thing: object, field: string) => (thing as Record<string, unknown>)[field]

/** A thing with the properties of `--fields` alone, in their order. */
export const chosen = (thing: object, fields: Fields): object => {
  const own = fields?.filter((field) => Object.hasOwn(thing, field))
  return own ? Object.fromEntries(own.map((field) => [field, propertyOf(thing, field)])) : thing
}

/** A column for each of `--fields`, named by the property. */
export const chosenColumns = <Row extends object>(
  columns: readonly Column<Row>[],
  fields: Fields,
): readonly Column<Row>[] =>
  fields?.map((field) => [headingOf(field), (row) => cellOf(field, propertyOf(row, field))]) ?? columns
