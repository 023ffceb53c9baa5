import { lockKey } from '../../lib/locks.ts'
import { SerializationConflict } from '../../store/database.ts'
import { statement } from '../../store/statement.ts'
import type { App, Work } from '../../store/work.ts'

/*
 * Units of work that add the same addresses to an account at the same moment conflict: all but one roll back and run again.
 * After its second conflict a unit of work queues. Queued units take the account's ticket before they lock any row, so that they
 * add addresses one after another, first come, first served, across all processes. Units of work without a conflict take the
 * ticket only near the plan's limit (contacts/write/classify.ts).
 *
 * For a while after that, all units of work of the account in this process queue from the start. They wait in memory first, so
 * that an account under contention leaves the other connections of the pool to its neighbours. Figure (2026-11-22): of 320 batches of
 * one pool none was refused; without the queue 62 (test/bench).
 */

/** Conflicts after which a unit of work queues. The first one is normal when the new-address heuristic fails (contacts/write/new-addresses.ts). */
const maxConflicts = 2
/** Units of work of one account with a connection: one adds addresses, the next one looks them up and waits for the ticket. */
const maxRunning = 2
/** The others wait in memory, at most this long and at most this many. */
const maxWaitMs = 20_000
const maxWaiting = 500
/** How long the units of work of an account queue after the last conflict. */
const contendedMs = 10_000

interface Queue {
  /** A time of `performance.now()`. */
  contendedUntil: number
  running: number
  /** Functions that start the waiting units of work, first come, first served. */
  waiting: Set<() => void>
}

const queues = new Map<string, Queue>()

const isOver = ({ contendedUntil, running, waiting }: Queue): boolean =>
  contendedUntil <= performance.now() && running + waiting.size === 0

/** Returns whether units of work of the account that add contacts queue from the start. */
export const isContended = (accountId: string): boolean => {
  const queue = queues.get(accountId)
  return queue !== undefined && !isOver(queue)
}

/** Makes the account's units of work queue for a while. */
export const noteContention = (accountId: string): void => {
  for (const [id, queue] of queues) if (isOver(queue)) queues.delete(id)
  const queue = queues.getOrInsertComputed(accountId, () => ({ contendedUntil: 0, running: 0, waiting: new Set() }))
  queue.contendedUntil = performance.now() + contendedMs
}

const tooMany = () => new SerializationConflict('Too many concurrent writes to the account')

/** Waits until the caller may run, and returns what it calls at its end. Throws `SerializationConflict` after `maxWaitMs`. */
const enterQueue = async (accountId: string): Promise<() => void> => {
  const queue = queues.get(accountId)!
  const end = () => {
    queue.running--
    for (const start of queue.waiting) return start()
  }
  if (queue.running < maxRunning && queue.waiting.size === 0) {
    queue.running++
    return end
  }
  if (queue.waiting.size >= maxWaiting) throw tooMany()
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
  }, maxWaitMs)
  queue.waiting.add(start)
  return promise
}

/** Thrown by a unit of work to release its locks and run again in the queue. */
export class GiveWay extends Error {}

const queued = new WeakSet<Work>()

/** Returns whether the unit of work must take the account's ticket before it adds contacts. */
export const isQueued = (work: Work): boolean => queued.has(work)

const lockTicket = statement(
  'take-ticket',
  { row: { pg_advisory_xact_lock: 'void' }, parameters: { accountId: 'text' } },
  `select pg_advisory_xact_lock(${lockKey('contactCapacity', ':accountId')})`,
)

/** Takes the account's ticket (an advisory lock) until the unit of work ends. */
export const takeTicket = async ({ sql, accountId }: Work): Promise<void> => {
  await sql(lockTicket, { accountId })
}

/** Takes the ticket if the unit of work is queued. Call it before locking other rows in a unit of work that adds contacts. */
export const ticketFirst = async (work: Work): Promise<void> => {
  if (isQueued(work)) await takeTicket(work)
}

/**
 * Runs a unit of work that adds contacts, as `app.work` does. After its second conflict, or if it throws `GiveWay`, it rolls back,
 * awaits `beforeQueue`, and runs again in the queue. `run` must not lock rows before it writes contacts, unless it calls `ticketFirst`.
 * Throws `SerializationConflict` if its turn in the queue does not come in time.
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
        // Others may have conflicted while this unit of work waited for its connection.
        if (runs++ >= maxConflicts || isContended(accountId)) throw new GiveWay()
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
  const end = await enterQueue(accountId)
  try {
    return await app.work(accountId, actor, (work) => {
      queued.add(work)
      return run(work)
    })
  } finally {
    end()
  }
}
