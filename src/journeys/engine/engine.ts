export { type Rehearsal, type RehearsedStep, rehearse } from './rehearsal.ts'
export { journeysQueue } from './runs.due.ts'
export { runJourneys } from './runs.loop.ts'
export type { SendMails } from './steps.out.ts'
