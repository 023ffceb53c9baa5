import { atFirstUse } from './at-first-use.ts'
import { conflict, noSuch, shown } from './problem.ts'

const collator = atFirstUse(() => new Intl.Collator('und'))

/** Compares by name in alphabetical order: case and accents matter only between otherwise equal names. */
export const byName = <Key extends PropertyKey>(key: Key) => {
  return (a: Readonly<Record<Key, string>>, b: Readonly<Record<Key, string>>): number =>
    collator().compare(a[key], b[key])
}

/** The error about an ambiguous name shows this many ids. Statements read one more. */
export const shownIds = 5

/**
 * Returns the row of `found` whose id is `ref`, otherwise the only row, which has it as its `property`. `list` is the command that
 * lists all rows. Throws Problem `not_found`, or `conflict` with the ids if there are several.
 */
export const theOne = <Row extends { id: string }>(
  found: readonly Row[],
  ref: string,
  { noun, property, list }: { noun: string; property: 'name' | 'title'; list: string },
): Row => {
  const byId = found.find(({ id }) => id === ref)
  const [one, other] = byId ? [byId] : found
  if (!one) throw noSuch(noun, ref, { hint: list })
  if (!other) return one
  const ids = [...found.slice(0, shownIds).map(({ id }) => id), ...(found.length > shownIds ? ['…'] : [])]
  throw conflict(`More than one ${noun} has the ${property} ${shown(ref)}: ${ids.join(', ')}`, {
    hint: `name one by its id: ${list}`,
  })
}
