export { type AccessView, listAccess } from './contacts.access.ts'
export { addColumns } from './contacts.count.ts'
export {
  type ContactWrite,
  columnNames,
  EmailInput,
  type Fields,
  mergeWrites,
  normalizeFields,
  plainEmailOf,
} from './contacts.fields.ts'
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
export { countHeld, type Person, readPerson } from './contacts.held.ts'
export { type ContactUpdate, joinList, updateContacts } from './contacts.known.ts'
export { addLead, confirmLead, type Lead, type LeadCause } from './contacts.leads.ts'
export { leaveList } from './contacts.leave.ts'
export {
  type ContactListView,
  createList,
  demandList,
  extendColumns,
  findList,
  listLists,
  NewList,
  renameList,
} from './contacts.lists.ts'
export { type ContactPlace, locateContact, locating } from './contacts.locate.ts'
export { purgeAccessLog, purgeImports, purgeMailDomains } from './contacts.purge.ts'
export { recheckDomains } from './contacts.recheck.ts'
export { type Erasure, eraseContact } from './contacts.remove.ts'
export { reverify } from './contacts.reverify.ts'
export { type UpsertCounts, upsertBatch, upsertContact } from './contacts.upsert.ts'
export { isDoubtful, type Verdict } from './contacts.verdict.ts'
export { verifyAddresses } from './contacts.verify.ts'
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
