export { journeysQueue } from './due.ts'
export { type Rehearsal, type RehearsedStep, rehearse } from './rehearsal.ts'
export { runJourneys } from './run.ts'
export type { SendMails } from './steps.out.ts'
