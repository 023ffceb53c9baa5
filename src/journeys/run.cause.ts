import type { Work } from '../store/work.ts'

/*
 * What the journeys know of a unit of work: which run is acting in it, and which runs it has ended. Kept beside the work,
 * since those in between (deals, contacts, events) know no journeys.
 */

/** A journey may start itself, by whatever it does, this deep. */
export const deepest = 10

const depths = new WeakMap<Work, number>()
const ended = new WeakMap<Work, Set<string>>()

/** From here on what the unit of work does is done by a run of this depth. */
export const actAt = (work: Work, depth: number): void => void depths.set(work, depth)

/** The depth of a run that starts in the unit of work: one below the run that causes it, 0 where none does. */
export const depthIn = (work: Work): number => (depths.get(work) ?? -1) + 1

/** The runs that the unit of work has ended by exit rules: its own runs among them record no further move. */
export const endedIn = (work: Work): Set<string> => {
  const runs = ended.get(work) ?? new Set()
  ended.set(work, runs)
  return runs
}
