import { setTimeout as sleep } from 'node:timers/promises'
import type { App, Work } from '../store/work.ts'
import { GiveWay, isContended, writeFairly } from './contacts.contention.ts'
import type { Verdict } from './contacts.verdict.ts'
import type { Batch } from './imports.batch.ts'
import { type OpenImport, writeBatch } from './imports.checkpoint.ts'
import type { Counts } from './imports.counts.ts'

/*
 * An import writes two batches at once, on two connections, if they have no address in common. They are committed in the order
 * of the file, each with its checkpoint, so the imported rows are always a prefix of the file. After a batch had to give way
 * to another writer, the import writes one batch at a time while the account is contended.
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

/** A batch on its way to the database. */
interface Writing {
  batch: Batch
  counts: Promise<Counts>
  /** Resolves when the batch has rolled back to queue. */
  gaveWay: Promise<void>
}

/** Longer than a batch usually takes. */
const lookMs = 100
/** Longer than any wait for a lock. */
const patienceMs = 6_000

const isBlocking =
  'select exists (select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))) as "isBlocking"'

/**
 * Waits, inside the transaction of a batch, for the commit of the batch ahead. That one may be blocked on a lock that this
 * transaction holds, through a third transaction; PostgreSQL can't detect this deadlock because one edge is in this process.
 * So this batch gives way once another transaction waits for it, and if the batch ahead has to queue.
 */
const waitFor = async ({ sql }: Work, { counts, gaveWay }: Writing): Promise<void> => {
  const isDone = counts.then(() => true)
  const hasToQueue = gaveWay.then(() => false)
  for (const deadline = performance.now() + patienceMs; performance.now() < deadline; ) {
    const outcome = await Promise.race([isDone, hasToQueue, sleep(lookMs, null, { ref: false })])
    if (outcome === true) return
    if (outcome === false) break
    const [row] = await sql<{ isBlocking: boolean }>(isBlocking)
    if (row!.isBlocking) break
  }
  throw new GiveWay()
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
  const open: Writing[] = []
  let rowsDone = opened.rows
  const start = ({ batch, verdicts }: Judged) => {
    const from = rowsDone
    const ahead = open.at(-1)
    const { promise: gaveWay, resolve: giveWay } = Promise.withResolvers<void>()
    let turn = async (work: Work) => ahead && (await waitFor(work, ahead))
    const counts = writeFairly(
      app,
      accountId,
      actor,
      (work) => writeBatch(work, opened, from, batch, verdicts, () => turn(work)),
      async () => {
        giveWay()
        await ahead?.counts
        turn = async () => {}
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
      // What is written meanwhile, or failed, is told before the next one is there: it may take long.
      while (open.length > 0 && !signal.aborted && (await isFirst(reading, open[0]!.counts))) yield await next()
      if (signal.aborted) break
      const { done, value } = await reading
      if (done) break
      const most = isContended(accountId) ? 1 : mostAtOnce
      while (open.length >= most || open.some(({ batch }) => haveInCommon(batch, value.batch))) yield await next()
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
