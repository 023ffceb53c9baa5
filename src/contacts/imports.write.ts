import { setTimeout as sleep } from 'node:timers/promises'
import type { App } from '../store/work.ts'
import type { Verdict } from './contacts.verdict.ts'
import type { Batch } from './imports.batch.ts'
import { type OpenImport, writeBatch } from './imports.checkpoint.ts'
import type { Counts } from './imports.counts.ts'

/*
 * The batches of an import on their way to the database: two at once, on two connections, where they have no address in common.
 * They are committed in the order of the file, each with its checkpoint, so that what is there is always a beginning of it.
 */

export interface Writer {
  app: App
  accountId: string
  actor: string
  /** Once aborted, the batches at work are finished and the import stops: `status` stays `running`. */
  signal: AbortSignal
}

/** A batch with the verdicts on its addresses. */
export interface Judged {
  batch: Batch
  verdicts: ReadonlyMap<string, Verdict>
}

const mostAtOnce = 2

class GaveWay extends Error {}

/** Shorter than any wait for a lock, longer than a batch takes. */
const patienceMs = 1000

const waitFor = async (before: Promise<unknown>): Promise<void> => {
  const patience = new AbortController()
  const lost = sleep(patienceMs, undefined, { signal: patience.signal }).then(() => {
    throw new GaveWay()
  })
  await Promise.race([before, lost]).finally(() => patience.abort())
}

/**
 * Runs a write that waits for its turn until `before` is done. In this time it holds addresses for which `before` may be waiting
 * by way of somebody else, whom no database sees standing in a circle: after a while it gives them up, and begins anew behind it.
 */
const inTurn = async <T>(before: Promise<unknown>, write: (turn: () => Promise<void>) => Promise<T>): Promise<T> => {
  try {
    return await write(() => waitFor(before))
  } catch (error) {
    if (!(error instanceof GaveWay)) throw error
  }
  await before
  return write(async () => {})
}

const haveInCommon = (a: Batch, b: Batch): boolean => {
  const emails = new Set(a.writes.map(({ email }) => email))
  return b.writes.some(({ email }) => emails.has(email))
}

/** Whether a write ends, well or not, before the next batch is read. Rejects where that can't be read. */
const isFirst = (reading: Promise<unknown>, writing: Promise<unknown>): Promise<boolean> => {
  const read = reading.then(() => false)
  // Who leaves it for the write hears of it no more.
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
 * Writes batches, and gives each in its order once it is committed. Where one fails, the one behind it is rolled back; what was
 * read before a fault of the reading is written before that is thrown.
 */
export const writeBatches = async function* (
  { app, accountId, actor, signal }: Writer,
  opened: OpenImport,
  batches: AsyncGenerator<Judged>,
): AsyncGenerator<{ rows: number; counts: Counts }> {
  const open: { batch: Batch; counts: Promise<Counts> }[] = []
  let rowsDone = opened.rows
  let before: Promise<unknown> = Promise.resolve()
  const start = ({ batch, verdicts }: Judged) => {
    const from = rowsDone
    const counts = inTurn(before, (turn) =>
      app.work(accountId, actor, (work) => writeBatch(work, opened, from, batch, verdicts, turn)),
    )
    // It is heard when its turn comes.
    counts.catch(() => {})
    open.push({ batch, counts })
    rowsDone += batch.rows
    before = counts
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
      // What is written meanwhile, or failed, is told before the next one is there: it may take long.
      while (open.length > 0 && !signal.aborted && (await isFirst(reading, open[0]!.counts))) yield await next()
      if (signal.aborted) break
      const { done, value } = await reading
      if (done) break
      while (open.length === mostAtOnce || open.some(({ batch }) => haveInCommon(batch, value.batch)))
        yield await next()
      if (!signal.aborted) start(value)
    }
    while (open.length > 0) yield await next()
  } catch (error) {
    while (open.length > 0) yield await next()
    throw error
  } finally {
    // Not awaited: it may stand at a pipe that says nothing for long.
    batches.return(undefined).catch(() => {})
    await Promise.allSettled(open.map(({ counts }) => counts))
  }
}
