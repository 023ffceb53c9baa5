/*
 * A bounce report is known by its content. The same report may be read from an mbox and from a mailbox, and again after
 * a crash. A report is identified by its Message-ID and its machine-readable part. It is recorded before its message is
 * marked as seen. The time of a report is the time of its reading, also for the three soft failures in 7 days.
 */

import { type ReportOutcome, recordReport } from '../messages/messages.ts'
import type { App } from '../store/work.ts'
import { readReport } from './report.ts'
import { splitMessages } from './split.ts'

/** Number of read messages by outcome. A report without new information is only counted in `read`. */
export interface BounceCounts {
  read: number
  bounced: number
  delayed: number
  complained: number
  /** Messages that are no reports, or reports of messages that this installation did not send. */
  unmatched: number
}

interface Ingestion {
  /** Only messages of this account are matched, or messages of all accounts if it is null. */
  accountId: string | null
  actor: string
  dryRun?: boolean
}

/** Reads an untrusted message, or its beginning, and records it if it is a report about a message that was sent here. */
export const ingestMessage = async (app: App, raw: Uint8Array, ingestion: Ingestion): Promise<ReportOutcome> => {
  const report = await readReport(raw)
  return report ? recordReport(app, report, ingestion) : 'unmatched'
}

/**
 * Reads the reports of a message or an mbox, and records each in its own unit of work
 * (docs/reference/mail.md#bounces-and-complaints). Recorded reports are recognised, so an interrupted run can be repeated. Stops when
 * `signal` is aborted. Returns the counts.
 */
export const ingestBounces = async (
  app: App,
  bytes: AsyncIterable<Uint8Array>,
  { signal, onRead, ...ingestion }: Ingestion & { signal?: AbortSignal; onRead?: (messages: number) => void },
): Promise<BounceCounts> => {
  const counts: BounceCounts = { read: 0, bounced: 0, delayed: 0, complained: 0, unmatched: 0 }
  for await (const message of splitMessages(bytes)) {
    if (signal?.aborted) break
    const outcome = await ingestMessage(app, message, ingestion)
    counts.read++
    onRead?.(counts.read)
    if (outcome !== 'known') counts[outcome]++
  }
  return counts
}
