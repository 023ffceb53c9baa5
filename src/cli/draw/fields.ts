import { Problem, shown } from '../../lib/problem.ts'
import { type Column, cellOf, headingOf } from './cells.ts'

type Fields = readonly string[] | null

/** Throws Problem `usage` that lists the known properties, if a field of `--fields` is not a property of any of `things`. */
export const requireKnown = (things: readonly object[], fields: Fields): void => {
  const known = new Set(things.flatMap(Object.keys))
  const unknown = fields?.filter((field) => !known.has(field)) ?? []
  // An empty list has no properties to compare with.
  if (things.length === 0 || unknown.length === 0) return
  throw new Problem('usage', `Unknown field "${shown(unknown.join(', '))}"; available: ${[...known].join(', ')}`)
}

const propertyOf = (thing: object, field: string) =>
  Object.hasOwn(thing, field) ? (thing as Record<string, unknown>)[field] : undefined

/** Returns an object with only the properties of `--fields`, in their order. */
export const chosen = (thing: object, fields: Fields): object => {
  const own = fields?.filter((field) => Object.hasOwn(thing, field))
  return own ? Object.fromEntries(own.map((field) => [field, propertyOf(thing, field)])) : thing
}

/** Returns a column for each of `--fields`, with the property as its heading; without `--fields` the given columns. */
export const chosenColumns = <Row extends object>(
  columns: readonly Column<Row>[],
  fields: Fields,
): readonly Column<Row>[] =>
  fields?.map((field) => [headingOf(field), (row) => cellOf(field, propertyOf(row, field))]) ?? columns
