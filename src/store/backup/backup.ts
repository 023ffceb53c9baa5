export { type AccountHeader, accountTables, readAccount, type SealedText, writeAccount } from './account.ts'
export { findRestored, readBackup } from './backup.read.ts'
export { writeBackup } from './backup.write.ts'
