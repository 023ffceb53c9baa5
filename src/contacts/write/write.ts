export { GiveWay, isContended, ticketFirst, writeFairly } from './contention.ts'
export {
  countRemoval,
  deleteList,
  findDeletable,
  finishListDeletions,
  type ListDeletion,
} from './delete-list.ts'
export { type ContactUpdate, joinList, updateContacts } from './known.ts'
export {
  type ContactPlace,
  locateContact,
  located,
  locating,
  locatingAddress,
  locatingBy,
  locatingParameters,
  lockContact,
} from './locate.ts'
export { type Erasure, eraseContact, type LeavingEffects, leaveList, leavingEffects, type Removal } from './remove.ts'
export { type UpsertCounts, upsertBatch, upsertContact } from './upsert.ts'
export { addColumns } from './write.count.ts'
export { addLead, confirmLead, type Lead, type LeadCause } from './write.leads.ts'
export { areWriteEventsWanted, type Outcome, type WriteOptions, writeContacts } from './write-contacts.ts'
