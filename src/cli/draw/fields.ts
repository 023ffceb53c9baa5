import { nearest } from '../../lib/nearest.ts'
import { Problem, shown } from '../../lib/problem.ts'
import { type Cell, type Column, cellOf, headingOf } from './cells.ts'

/** What a name in `--fields` selects. */
interface Field<Row> {
  /** The property with --json. */
  name: string
  column: Column<Row>
  /** Returns the property's value; where a row has none, that of the column. */
  value(row: Row): unknown
}

const propertyOf = (thing: object, name: string) =>
  Object.hasOwn(thing, name) ? (thing as Record<string, unknown>)[name] : undefined

const rawOf = (cell: Cell): unknown => (cell instanceof Date ? cell.getTime() : cell)

/** `LAST ERROR` as `lastError`. */
const nameOf = (heading: string): string =>
  heading.toLowerCase().replaceAll(/ +(.)/g, (_, first) => first.toUpperCase())

/**
 * Returns what `--fields` selects, in its order: headings and properties, in any case. In a table a heading takes precedence. Throws
 * Problem `usage` with what is available for a name that is neither. `things` are the rows, or the first of them.
 */
export const selected = <Row extends object>(
  fields: readonly string[],
  things: readonly Row[],
  columns: readonly Column<Row>[],
  isTerminal: boolean,
): Field<Row>[] => {
  const properties = [...new Set(things.flatMap(Object.keys))]
  const columnOf = (field: string) => {
    const those = columns.filter(([heading]) => heading === field.toUpperCase())
    return those.find(([, , only]) => only !== (isTerminal ? 'pipe' : 'terminal')) ?? those[0]
  }
  const unknown: string[] = []
  const all = fields.map((field): Field<Row> => {
    const same = (name: string) => [name.toUpperCase(), headingOf(name)].includes(field.toUpperCase())
    const property = properties.find((name) => name === field) ?? properties.find(same)
    const own = columnOf(field)
    if (property === undefined && !own) unknown.push(field)
    const name = property ?? nameOf(own?.[0] ?? field)
    const [heading, cell] = own ?? [headingOf(name), (row: Row) => cellOf(name, propertyOf(row, name))]
    const value = (row: Row) => {
      const held = propertyOf(row, name)
      return own ? (held ?? rawOf(own[1](row)) ?? held) : held
    }
    return { name, column: [heading, cell], value }
  })
  // An empty list has no properties to compare with.
  if (things.length === 0 || unknown.length === 0) return all
  const others = columns
    .map(([heading]) => heading)
    .filter((heading) => !properties.some((name) => headingOf(name) === heading))
  const available = [...properties, ...new Set(others)]
  const likely = nearest(unknown[0]!, available)
  const meant = likely ? ` (did you mean ${likely}?)` : ''
  throw new Problem('usage', `Unknown field "${shown(unknown.join(', '))}"; available: ${available.join(', ')}${meant}`)
}

/** Returns an object with only the selected properties that it has, in their order. */
export const chosen = <Row extends object>(row: Row, fields: readonly Field<Row>[] | null): object => {
  if (!fields) return row
  const entries = fields.map(({ name, value }) => [name, value(row)] as const)
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}
