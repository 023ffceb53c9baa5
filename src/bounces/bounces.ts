/*
 * Where reports about email come from, and what they say: mailboxes (mailboxes.read.ts) and files (ingest.ts) with
 * delivery reports and complaints (report.ts). Messages record what a report means for a message.
 */

export { type BounceCounts, ingestBounces } from './ingest.ts'
export { setMailbox, showMailbox, testMailbox, unsetMailbox } from './mailboxes.ts'
