/*
 * What became of emails, by day: messages that were sent, bounced or failed, and people who opened, clicked, answered or
 * left (docs/reference/results.md). results.rows.ts says how they are counted, fold.ts how they are added up.
 */

export { type BesideResults, besideResults, type MachineActions, machineActions, tallyingMachines } from './machines.ts'
export { erasePerson, recipientAction, recountPerson } from './people.ts'
export { type MailStats, mailStats, resultsOf } from './results.read.ts'
export { countPeopleByVariant, type VariantCounts } from './variants.ts'
