import type { StateKey, Work } from './work.ts'

/** Makes a key for `work.state`. `create` makes the state at its first use in a unit of work. */
export const stateKey = <T>(create: (work: Work) => T): StateKey<T> => ({ create })

/** Creates the `state` method of one run of a unit of work. */
export const createStates = (): Work['state'] => {
  const states = new Map<StateKey<unknown>, unknown>()
  return function <T>(this: Work, key: StateKey<T>): T {
    // The cast: a key is stored only together with what its own `create` returned.
    return states.getOrInsertComputed(key, () => key.create(this)) as T
  }
}
