/*
 * definition/ has the schema, files/ checks, names and versions, enrolment/ the entry of contacts, engine/ the runs:
 * claim, walk, step, record (rehearsal.ts is a dry walk). journeys.wake.ts ends and wakes runs, journeys.cause.ts knows
 * chains of journeys.
 */

import type { SendMails } from './engine/steps.out.ts'
import type { Sources } from './files/files.ts'

export { TriggerData } from '../lib/merge-data.ts'
export { mostEmails } from './definition/walk.ts'
export type { SendMails } from './engine/steps.out.ts'
export { startJourneys } from './enrolment/enter.ts'
export { EntryRequest, triggerJourney, triggerList } from './enrolment/trigger.ts'
export { type Applied, applyJourneys, checkStepUrls, type Sources } from './files/files.ts'
export { countJourneyRemoval, deleteJourney, endRun, listOpenRuns } from './journeys.cancel.ts'
export {
  findJourney,
  type JourneyDetail,
  JourneyShape,
  type JourneyView,
  listJourneys,
  switchJourney,
} from './journeys.find.ts'
export { journeysAwaiting, listRuns, RunRequest, type RunView, showRun } from './journeys.runs.ts'
export { countedRuns, hasMoreRuns, sidesOf } from './journeys.sides.ts'
export { drawTree, namesFor, type TreeStep, treeOf } from './journeys.tree.ts'

declare module '../store/work.ts' {
  interface Settings {
    /** How long journey runs and their steps are kept after they ended. */
    readonly journeyRetentionDays: number
  }
  interface Operation {
    readonly sources: Sources
  }
  interface App {
    /** Loads what queues the emails of runs. */
    journeyMails(): Promise<SendMails>
  }
}
