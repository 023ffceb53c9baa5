import { setTimeout as sleep } from 'node:timers/promises'
import { Problem } from '../lib/problem.ts'
import { isBusy, isUnavailable, tooBusy } from '../store/database.ts'
import { verifyAddresses } from './contacts.verify.ts'
import { type Batch, readBatches } from './imports.batch.ts'
import { finishImport, type ImportView, type OpenImport } from './imports.checkpoint.ts'
import { addCounts, type Counts } from './imports.counts.ts'
import type { Prepared } from './imports.prepare.ts'
import { writeRejects } from './imports.rejects.ts'
import { type Judged, type Writer, writeBatches } from './imports.write.ts'

export interface ImportRun extends Writer {
  /** After each batch, with the rows done in all. */
  onBatch?(rows: number): void
}

/** Batches with their verdicts: DNS is asked here, before any transaction. */
const judgeBatches = async function* ({ app }: ImportRun, batches: AsyncIterable<Batch>): AsyncGenerator<Judged> {
  for await (const batch of batches) {
    const emails = batch.writes.map((write) => write.email)
    yield { batch, verdicts: await verifyAddresses(app, emails) }
  }
}

/** The batch at work gets to the database first: parsing the next in this time would hold up its first statements. */
const headStartMs = 4

/** Reads one item ahead: the next is being made while the consumer works on this one. */
const readAhead = async function* <T>(items: AsyncGenerator<T>): AsyncGenerator<T> {
  let next = items.next()
  try {
    for (;;) {
      const { done, value } = await next
      if (done) return
      next = sleep(headStartMs).then(() => items.next())
      // A failure waits for its turn: what came before it is written first.
      next.catch(() => {})
      yield value
    }
  } finally {
    // Not awaited: it may stand at a pipe that says nothing for long.
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
 * Writes what is not yet done of an import, batch by batch, each with its checkpoint in one transaction: killed at any
 * point, it goes on from there. Gives it as it then is: `done`, or `running` where `signal` stopped it.
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
  const state = () => ({ ...opened, ...counts, rows: done })
  try {
    for await (const written of writeBatches(run, opened, readAhead(judgeBatches(run, batches)))) {
      counts = addCounts(counts, written.counts)
      done += written.rows
      onBatch?.(done)
    }
    if (signal.aborted) return state()
    // Before it counts as done: whatever happens in between, a resume writes them again.
    const { rejectsFile } = opened.options
    if (rejectsFile) await writeRejects((write) => app.work(accountId, actor, write), opened.id, rejectsFile)
    return await app.work(accountId, actor, (work) => finishImport(work, opened.id, done))
  } catch (error) {
    if (signal.aborted && (error as Error).name === 'AbortError') return state()
    throw resumable(error, opened.id)
  }
}
