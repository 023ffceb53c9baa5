export {
  type EnterableJourney,
  type Entrant,
  enabledJourneys,
  enterJourney,
  enterLocked,
  startJourneys,
} from './enter.ts'
export { forgetList, forgetPerson, pastEntriesOf } from './past.ts'
export { contextOfData, EntryRequest, triggerJourney, triggerList } from './trigger.ts'
export {
  contextOf,
  exitRulesOf,
  matchesTrigger,
  type Subject,
  subjectOf,
  triggerKeysOf,
  triggerKindOf,
} from './triggers.ts'
