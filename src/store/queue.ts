import { setTimeout as sleep } from 'node:timers/promises'
import { type Database, isUnavailable } from './database.ts'
import { listen } from './wakeup.ts'

/* What the queues in the database have in common (deliveries, journey runs): the loop of a job, from start to orderly end. */

/** A queue as operators see it (`svc status`, `/metrics`). */
export interface QueueView {
  name: string
  /** SQL that gives `due_at` of each row that is due at the time `clock.now`, in hand or not. */
  due: string
}

/** How long the end may take once the database is away. */
export const settleMs = 3000

/** Wakes one waiter; a ring while nobody waits is kept for the next. */
export const createBell = () => {
  let rung = false
  let wake = () => {}
  return {
    ring() {
      rung = true
      wake()
    },
    async wait(limitMs: number) {
      if (!rung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, limitMs)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      rung = false
    },
  }
}

/** The loop as its worker sees it. */
export interface Queue {
  /** Aborted when it is to end: told so, or at a fault. */
  readonly stop: AbortSignal
  /** There may be something to claim. */
  ring(): void
  /** Ends it; `runQueue` rejects with the fault, after the orderly end. */
  fail(fault: unknown): void
}

export interface Worker {
  /**
   * Claims what is due and has room, and sets it going. Gives after how many ms to look again, where that is not the usual
   * time. Rejects with a passing fault to be asked again.
   */
  claim(): Promise<number | undefined>
  /** Finishes what is going, and gives back what is not. */
  finish(): Promise<void>
}

/**
 * Has `worker` claim at each notice on `channel`, at each ring, and after `pollMs` or what it says instead (what comes due by
 * time, notices that were lost), until `signal` is aborted; then it finishes. Any number may run on one database. While the database is away it waits; any other fault rejects, after the
 * same orderly end.
 */
export const runQueue = async (
  database: Database,
  channel: string,
  signal: AbortSignal,
  open: (queue: Queue) => Worker,
  pollMs = 2000,
): Promise<void> => {
  const fault = new AbortController()
  const stop = AbortSignal.any([signal, fault.signal])
  const bell = createBell()
  const worker = open({ stop, ring: bell.ring, fail: (error) => fault.abort(error) })
  const notices = listen(database, channel, bell.ring)
  stop.addEventListener('abort', bell.ring)
  try {
    while (!stop.aborted) {
      const waitMs = await worker.claim().catch((error) => {
        if (!isUnavailable(error)) fault.abort(error)
      })
      await bell.wait(waitMs ?? pollMs)
    }
  } finally {
    await worker.finish()
    await Promise.race([notices.close(), sleep(settleMs, undefined, { ref: false })])
  }
  if (fault.signal.aborted) throw fault.signal.reason
}
