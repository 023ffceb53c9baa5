import type { Work } from '../store/work.ts'
import { stateKey } from '../store/work-state.ts'

/*
 * The state of journeys in a unit of work: the runs that act in it, and the runs that it ends. The features in between (deals,
 * contacts, events) do not know journeys, so it is not passed through them.
 */

/** Maximum depth of a chain of journeys that start each other. */
export const maxDepth = 10

/** Maximum runs per root run, including the root. */
export const maxRunsPerRoot = 1000

/** A run that acts in the unit of work. Depth and root of the runs that it causes follow from it. */
interface Actor {
  id: string
  rowId: string
  depth: number
  rootId: string | null
}

interface JourneyState {
  /** All runs of the unit of work. */
  actors: readonly Actor[]
  /** The runs that do the current step. Those of one person have the same cause. */
  causing: readonly Actor[]
  /** Runs that exit rules have ended: the unit of work records no further change of them. */
  ended: Set<string>
  /** Runs that reach their journey's end: events of the unit of work no longer end or wake them. */
  completing: Set<string>
  /** The number of runs beyond `maxRunsPerRoot` that were not started, by causing run. */
  unstarted: Map<string, number>
}

const journeyState = stateKey(
  (): JourneyState => ({ actors: [], causing: [], ended: new Set(), completing: new Set(), unstarted: new Map() }),
)

export const journeyStateOf = (work: Work): JourneyState => work.state(journeyState)

/** Returns the run that causes a change of a person: a run of that person that does the current step, else any other. It is null if none does. */
export const causeFor = (work: Work, rowId: string): Actor | null => {
  const { causing } = journeyStateOf(work)
  return causing.find((actor) => actor.rowId === rowId) ?? causing[0] ?? null
}
