import type { App } from '../store/work.ts'
import { type ReportOutcome, recordReport } from './bounces.record.ts'
import { readReport } from './bounces.report.ts'
import { splitMessages } from './bounces.split.ts'

/** How many messages were read, and what they were; one that told nothing new is in `read` alone. */
export interface BounceCounts {
  read: number
  bounced: number
  delayed: number
  complained: number
  /** No reports, or reports of nothing that we sent. */
  unmatched: number
}

interface Ingestion {
  /** Only messages of this account are matched; null: those of all. */
  accountId: string | null
  actor: string
  dryRun?: boolean
}

/** Reads one message of anybody, or its beginning, and does what it asks for if it is a report of ours. */
export const ingestMessage = async (app: App, raw: Uint8Array, ingestion: Ingestion): Promise<ReportOutcome> => {
  const report = await readReport(raw)
  return report ? recordReport(app, report, ingestion) : 'unmatched'
}

/**
 * Reads the reports of a message or an mbox and records each in a unit of work of its own: what was read before is known when
 * it comes again, so that an interrupted run is simply repeated (decisions.md, Bounces and complaints). Stops at `signal`.
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
