import { SerializationConflict } from '../store/database.ts'
import type { App, Work } from '../store/work.ts'

/*
 * Units of work that add the same addresses to an account at the same moment conflict: all but one roll back and run again.
 * After its second conflict a unit of work queues. Queued units take the account's ticket (contacts.room.ts) before they lock
 * any row, so that they add addresses one after another, first come, first served, across all processes. Units of work without
 * a conflict never touch the ticket.
 *
 * For a while after that, all units of work of the account in this process queue from the start. They wait in memory first, so
 * that an account under contention leaves the other connections of the pool to its neighbours.
 */

/** Conflicts after which a unit of work queues. One is normal where a streak of new addresses ends (contacts.streaks.ts). */
const mostConflicts = 2
/** Units of work of one account with a connection: one adds addresses, the next one reads what exists and waits for the ticket. */
const mostRunning = 2
/** The rest wait in memory, at most this long and this many. */
const longestWaitMs = 20_000
const mostWaiting = 500
/** How long after the last sign of contention the units of work of an account still queue. */
const contendedMs = 10_000

interface Queue {
  /** By `performance.now()`. */
  contendedUntil: number
  running: number
  /** Each starts the unit of work that waits, in their order. */
  waiting: Set<() => void>
}

const queues = new Map<string, Queue>()

const isOver = ({ contendedUntil, running, waiting }: Queue): boolean =>
  contendedUntil <= performance.now() && running + waiting.size === 0

/** Whether units of work of the account that add contacts queue from the start. */
export const isContended = (accountId: string): boolean => {
  const queue = queues.get(accountId)
  return queue !== undefined && !isOver(queue)
}

/** Has the account's units of work queue for a while. */
export const noteContention = (accountId: string): void => {
  for (const [id, queue] of queues) if (isOver(queue)) queues.delete(id)
  const queue = queues.getOrInsertComputed(accountId, () => ({ contendedUntil: 0, running: 0, waiting: new Set() }))
  queue.contendedUntil = performance.now() + contendedMs
}

const tooMany = () => new SerializationConflict('Too many others write to the account')

/** Resolves at the caller's turn, with the function that ends it. Throws `SerializationConflict` if it does not come in time. */
const turnOf = async (accountId: string): Promise<() => void> => {
  const queue = queues.get(accountId)!
  const end = () => {
    queue.running--
    for (const start of queue.waiting) return start()
  }
  if (queue.running < mostRunning && queue.waiting.size === 0) {
    queue.running++
    return end
  }
  if (queue.waiting.size >= mostWaiting) throw tooMany()
  const { promise, resolve, reject } = Promise.withResolvers<() => void>()
  const start = () => {
    clearTimeout(timer)
    queue.waiting.delete(start)
    queue.running++
    resolve(end)
  }
  const timer = setTimeout(() => {
    queue.waiting.delete(start)
    reject(tooMany())
  }, longestWaitMs)
  queue.waiting.add(start)
  return promise
}

/** The unit of work releases its locks and runs again in the queue. */
export class GiveWay extends Error {}

const queued = new WeakSet<Work>()

/** Whether the unit of work must take the account's ticket before it adds contacts. */
export const isQueued = (work: Work): boolean => queued.has(work)

/**
 * Runs a unit of work that adds contacts, as `app.work` does, and in the queue once it conflicts or throws `GiveWay`: behind
 * `beforeQueue`, while it holds no lock. `run` must take no lock before it writes contacts. Throws `SerializationConflict` if its
 * turn does not come in time.
 */
export const writeFairly = async <T>(
  app: Pick<App, 'work'>,
  accountId: string,
  actor: string,
  run: (work: Work) => Promise<T>,
  beforeQueue = async (): Promise<void> => {},
): Promise<T> => {
  if (!isContended(accountId)) {
    let runs = 0
    try {
      return await app.work(accountId, actor, async (work) => {
        // It may have waited for its connection while others conflicted.
        if (runs++ >= mostConflicts || isContended(accountId)) throw new GiveWay()
        return run(work)
      })
    } catch (error) {
      if (!(error instanceof GiveWay)) throw error
      noteContention(accountId)
    }
  }
  await beforeQueue()
  // The wait may have been long.
  noteContention(accountId)
  const end = await turnOf(accountId)
  try {
    return await app.work(accountId, actor, (work) => {
      queued.add(work)
      return run(work)
    })
  } finally {
    end()
  }
}
