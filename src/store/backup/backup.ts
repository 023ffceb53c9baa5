export { type AccountHeader, accountTables, readAccount, type SealedText, writeAccount } from './account.ts'
export { readBackup } from './read.ts'
export { writeBackup } from './write.ts'
