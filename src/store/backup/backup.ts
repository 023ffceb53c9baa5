export { readBackup } from './read.ts'
export { writeBackup } from './write.ts'
