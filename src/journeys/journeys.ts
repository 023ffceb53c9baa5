export { type Applied, applyJourneys } from './journeys.apply.ts'
export { judgeUrls } from './journeys.check.ts'
export { type Occasion, startJourneys } from './journeys.enrol.ts'
export {
  findJourney,
  type JourneyDetail,
  JourneyShape,
  type JourneyView,
  listJourneys,
  switchJourney,
} from './journeys.find.ts'
export { listRuns, type RunDetail, RunRequest, type RunView, showRun } from './journeys.runs.ts'
export { Entrant, triggerJourney } from './journeys.trigger.ts'
