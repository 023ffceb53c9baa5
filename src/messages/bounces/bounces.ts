export { type BounceCounts, ingestBounces } from './ingest.ts'
export { readMailboxes, runMailboxes } from './mailboxes.read.ts'
export { setMailbox, showMailbox, testMailbox, unsetMailbox } from './mailboxes.ts'
