import { setTimeout as sleep } from 'node:timers/promises'
import { statement } from '../../store/statement.ts'
import type { App, Work } from '../../store/work.ts'
import type { VerificationResult } from '../verification/result.ts'
import { GiveWay, isContended, writeFairly } from '../write/contention.ts'
import type { Batch } from './batch.ts'
import { type OpenImport, writeBatch } from './checkpoint.ts'
import type { Counts } from './counts.ts'

/*
 * An import writes two batches at once, on two connections, because it waits for the disk at each commit. The two have no address in
 * common. The later one waits for the earlier one's commit before it locks what both change, and is committed after it, each with its
 * checkpoint: the imported rows are always a prefix of the file.
 *
 * While the later batch waits and holds addresses, it may block the earlier one through a third transaction, a deadlock that PostgreSQL
 * cannot see. So it rolls back as soon as another transaction waits for it, and the import writes one batch at a time while the account
 * is contended. Rarely, a batch is written twice. Figure (2026-11-22): 200,000 rows, 21,460 rows/s, 0.87 of the raw upsert (test/bench).
 */

export interface Writer {
  app: App
  accountId: string
  actor: string
  /** When aborted, the current batches are finished and the import stops. */
  signal: AbortSignal
}

/** A batch with the verification results of its addresses. */
export interface VerifiedBatch {
  batch: Batch
  verifications: ReadonlyMap<string, VerificationResult>
}

const maxConcurrent = 2

/** A batch that is being written. */
interface Writing {
  batch: Batch
  counts: Promise<Counts>
  /** Resolves when the batch has rolled back to queue. */
  gaveWay: Promise<void>
}

/** Interval of the deadlock check: longer than a batch usually takes. */
const checkMs = 100
/** Longest wait for the batch ahead: longer than any wait for a lock. */
const maxWaitMs = 6_000

const checkBlocking = statement(
  'is-blocking',
  { row: { isBlocking: 'bool' } },
  'select exists (select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))) as "isBlocking"',
)

/**
 * Waits, inside the transaction of a batch, for the commit of the batch ahead. That one may be blocked on a lock that this
 * transaction holds, through a third transaction; PostgreSQL can't detect this deadlock because one edge is in this process.
 * So this batch gives way once another transaction waits for it, and if the batch ahead has to queue.
 */
const waitFor = async ({ sql }: Work, { counts, gaveWay }: Writing): Promise<void> => {
  const isDone = counts.then(() => true)
  const hasToQueue = gaveWay.then(() => false)
  for (const deadline = performance.now() + maxWaitMs; performance.now() < deadline; ) {
    const outcome = await Promise.race([isDone, hasToQueue, sleep(checkMs, null, { ref: false })])
    if (outcome === true) return
    if (outcome === false) break
    const [row] = await sql(checkBlocking)
    if (row!.isBlocking) break
  }
  throw new GiveWay()
}

const haveInCommon = (a: Batch, b: Batch): boolean => {
  const emails = new Set(a.writes.map(({ email }) => email))
  return b.writes.some(({ email }) => emails.has(email))
}

/** Returns whether `writing` settles before `reading`. Rejects if `reading` rejects first. */
const isFirst = (reading: Promise<unknown>, writing: Promise<unknown>): Promise<boolean> => {
  const read = reading.then(() => false)
  // Avoids an unhandled rejection after `writing` has won; the caller awaits `reading` itself.
  read.catch(() => {})
  return Promise.race([
    read,
    writing.then(
      () => true,
      () => true,
    ),
  ])
}

/**
 * Writes batches, and yields each one after its commit, in order. If a batch fails, the batch after it is rolled back. If reading fails,
 * the batches that were read before are written first.
 */
export const writeBatches = async function* (
  { app, accountId, actor, signal }: Writer,
  opened: OpenImport,
  batches: AsyncGenerator<VerifiedBatch>,
): AsyncGenerator<{ rows: number; counts: Counts }> {
  const open: Writing[] = []
  let rowsDone = opened.rows
  const start = ({ batch, verifications }: VerifiedBatch) => {
    const from = rowsDone
    const ahead = open.at(-1)
    const { promise: gaveWay, resolve: giveWay } = Promise.withResolvers<void>()
    let waitForTurn = async (work: Work) => ahead && (await waitFor(work, ahead))
    const counts = writeFairly(
      app,
      accountId,
      actor,
      (work) => writeBatch(work, opened, from, batch, verifications, () => waitForTurn(work)),
      async () => {
        giveWay()
        await ahead?.counts
        waitForTurn = async () => {}
      },
    )
    // A failure is reported when the batch's turn comes.
    counts.catch(() => {})
    open.push({ batch, counts, gaveWay })
    rowsDone += batch.rows
  }
  const next = async () => {
    const { batch, counts } = open[0]!
    const written = { rows: batch.rows, counts: await counts }
    open.shift()
    return written
  }
  try {
    while (!signal.aborted) {
      const reading = batches.next()
      // Yields finished batches while waiting for the next one, which may take long.
      while (open.length > 0 && !signal.aborted && (await isFirst(reading, open[0]!.counts))) yield await next()
      if (signal.aborted) break
      const { done, value } = await reading
      if (done) break
      const most = isContended(accountId) ? 1 : maxConcurrent
      while (open.length >= most || open.some(({ batch }) => haveInCommon(batch, value.batch))) yield await next()
      if (!signal.aborted) start(value)
    }
    while (open.length > 0) yield await next()
  } catch (error) {
    while (open.length > 0) yield await next()
    throw error
  } finally {
    // Not awaited: it may be waiting for data from a silent pipe.
    batches.return(undefined).catch(() => {})
    await Promise.allSettled(open.map(({ counts }) => counts))
  }
}
