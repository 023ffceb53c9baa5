import type { Work } from '../store/work.ts'

/*
 * What the journeys know of a unit of work: which runs act in it, and what became of runs in it. Kept beside the work, since
 * those in between (deals, contacts, events) know no journeys.
 */

/** A journey may start itself, by whatever it does, this deep. */
export const deepest = 10

/** So many runs may come of one that was started from outside, itself among them. */
export const mostOfRoot = 1000

/** A run that acts: what it causes is counted from it. */
export interface Actor {
  id: string
  rowId: string
  depth: number
  rootId: string | null
}

interface Doings {
  actors: readonly Actor[]
  /** Those of them that do the step at hand: of one person they come of the same. */
  causing: readonly Actor[]
  /** The runs that exit rules have ended: the unit records no further move of its own among them. */
  ended: Set<string>
  /** The runs that reach their journey's end: no event of the unit ends or wakes them any more. */
  completing: Set<string>
  /** How many runs were not started for want of budget, by the run that would have caused them. */
  unstarted: Map<string, number>
}

const known = new WeakMap<Work, Doings>()

/** What journeys do in the unit of work. */
export const doingsOf = (work: Work): Doings => {
  const doings = known.get(work) ?? {
    actors: [],
    causing: [],
    ended: new Set(),
    completing: new Set(),
    unstarted: new Map(),
  }
  known.set(work, doings)
  return doings
}

/** The run that causes what the unit of work does to a person: one of that person's, else any; null where none does a step. */
export const causeFor = (work: Work, rowId: string): Actor | null => {
  const { causing } = doingsOf(work)
  return causing.find((actor) => actor.rowId === rowId) ?? causing[0] ?? null
}
