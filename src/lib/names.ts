import { atFirstUse } from './at-first-use.ts'

const collator = atFirstUse(() => new Intl.Collator('und'))

/** Compares by name in alphabetical order: case and accents matter only between otherwise equal names. */
export const byName = <Key extends PropertyKey>(key: Key) => {
  return (a: Readonly<Record<Key, string>>, b: Readonly<Record<Key, string>>): number =>
    collator().compare(a[key], b[key])
}
