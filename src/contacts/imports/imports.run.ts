import { Problem } from '../../lib/problem.ts'
import { isBusy, isUnavailable, tooBusy } from '../../store/database.ts'
import { verifyAddresses } from '../verification/verify.ts'
import { type Batch, readBatches } from './batch.ts'
import { finishImport, holdImport, type ImportView, type OpenImport, stopImport } from './checkpoint.ts'
import { addCounts, type Counts } from './counts.ts'
import { type VerifiedBatch, type Writer, writeBatches } from './imports.write.ts'
import { countOptedOut, type OptedOut } from './opted-out.ts'
import type { Prepared } from './prepare.ts'
import { writeRejects } from './rejects.ts'

interface ImportRun extends Writer {
  /** It is called after each batch with the number of imported rows. */
  onBatch?(rows: number): void
  /** How many addresses have opted out elsewhere, by the column that says so; added up here. */
  optedOut?: OptedOut
}

/**
 * Suppresses the addresses of a batch that have opted out elsewhere, in a unit of work of its own: it may lock addresses that another
 * batch holds, and a resume can repeat it. Contacts of addresses that are suppressed here are not added as active.
 */
const applyStates = async ({ app, accountId, actor }: ImportRun, batch: Batch): Promise<Batch> => {
  const { states } = batch
  if (!states) return batch
  const { suppress, leave, suppressedOf } = await app.suppressing()
  if (states.optOuts.length > 0) await app.work(accountId, actor, (work) => suppress(work, states.optOuts))
  if (states.left.size > 0) await app.work(accountId, actor, (work) => leave(work, states.left))
  const emails = batch.writes.map(({ email }) => email)
  const pending = states.pending.union(await suppressedOf({ sql: app.sql, accountId }, emails))
  return { ...batch, states: { ...states, pending } }
}

/** Adds verification results to batches. Asks DNS, so it runs before any transaction. */
const verifyBatches = async function* (run: ImportRun, batches: AsyncIterable<Batch>): AsyncGenerator<VerifiedBatch> {
  for await (const read of batches) {
    if (run.signal.aborted) return
    const emails = read.writes.map((write) => write.email)
    if (run.optedOut) countOptedOut(read, run.optedOut)
    const verifications = await verifyAddresses(run.app, emails)
    yield { batch: await applyStates(run, read), verifications }
  }
}

/** Reads one item ahead, while the consumer works on the current one. */
const readAhead = async function* <T>(items: AsyncGenerator<T>): AsyncGenerator<T> {
  let next = items.next()
  try {
    for (;;) {
      const { done, value } = await next
      if (done) return
      next = items.next()
      // A failure is thrown in order, after the previous items.
      next.catch(() => {})
      yield value
    }
  } finally {
    // Not awaited: it may be waiting for data from a silent pipe.
    items.return(undefined).catch(() => {})
  }
}

const resumable = (error: unknown, id: string): unknown => {
  const hint = `svc imports resume ${id}`
  if (isBusy(error)) return new Problem('unavailable', tooBusy().message, { hint })
  if (isUnavailable(error))
    return new Problem('unavailable', 'The database went away: the imported rows stay', { hint })
  if (error instanceof Problem && !error.detail.hint)
    return new Problem(error.kind, error.message, { ...error.detail, hint })
  return error
}

/**
 * Writes the remaining rows of an import in batches, each with its checkpoint in one transaction: an import that was killed at any point
 * can be resumed from there. Returns the import: `done`, or `stopped` if `signal` was aborted.
 */
export const runImport = async (
  run: ImportRun,
  opened: OpenImport,
  { columns, rows }: Prepared,
): Promise<ImportView> => {
  const { app, accountId, actor, signal, onBatch } = run
  const keepFirst = opened.options.onConflict === 'skip'
  const batches = readBatches(rows, { columns, keepFirst, skip: opened.rows })
  let counts: Counts = opened
  let done = opened.rows
  const stop = async (): Promise<ImportView> => {
    await app.work(accountId, actor, (work) => stopImport(work, opened.id, done))
    return { ...opened, ...counts, status: 'stopped', rows: done }
  }
  const release = await holdImport(app, opened.id).catch((error) => {
    throw resumable(error, opened.id)
  })
  try {
    for await (const written of writeBatches(run, opened, readAhead(verifyBatches(run, batches)))) {
      counts = addCounts(counts, written.counts)
      done += written.rows
      onBatch?.(done)
    }
    if (signal.aborted) return await stop()
    // Before the import is marked as done: after a crash in between, a resume writes the rejects again.
    const { rejectsFile } = opened.options
    if (rejectsFile) await writeRejects((write) => app.work(accountId, actor, write), opened.id, rejectsFile)
    return await app.work(accountId, actor, (work) => finishImport(work, opened.id, done))
  } catch (error) {
    if (signal.aborted && (error as Error).name === 'AbortError') return stop()
    throw resumable(error, opened.id)
  } finally {
    await release()
  }
}
