export { type AccessView, listAccess } from './contacts.access.ts'
export { type ContactWrite, EmailInput, type Fields, mergeWrites, normalizeFields } from './contacts.fields.ts'
export {
  exportContacts,
  findContacts,
  listContacts,
  type Recipient,
  readContacts,
  readContactsOf,
  readRecipients,
  showContact,
} from './contacts.find.ts'
export { addFinding, dropFindings, type Finding } from './contacts.findings.ts'
export { type Person, readPerson } from './contacts.held.ts'
export { type ContactUpdate, joinList, updateContacts } from './contacts.known.ts'
export { addLead, confirmLead, type Lead, type LeadCause } from './contacts.leads.ts'
export { leaveList } from './contacts.leave.ts'
export {
  addColumns,
  type ContactListView,
  createList,
  demandList,
  extendColumns,
  findList,
  listLists,
  NewList,
  renameList,
} from './contacts.lists.ts'
export { type ContactPlace, locateContact } from './contacts.locate.ts'
export { type Erasure, eraseContact } from './contacts.remove.ts'
export { type UpsertCounts, upsertBatch, upsertContact } from './contacts.upsert.ts'
export type { Verdict } from './contacts.verdict.ts'
export { recheckDomains, verifyAddress, verifyAddresses } from './contacts.verify.ts'
export type { Contact } from './contacts.view.ts'
export { type Outcome, type WriteOptions, writeContacts } from './contacts.write.ts'
export {
  countRemoval,
  deleteList,
  findDeletable,
  finishListDeletions,
  type ListDeletion,
  type Removal,
} from './lists.delete.ts'
