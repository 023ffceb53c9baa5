import { setTimeout as sleep } from 'node:timers/promises'
import { settleMs } from '../store/queue.ts'
import type { App } from '../store/work.ts'
import { openWorker } from '../store/worker.ts'
import { createCarrier } from './mail.carrier.ts'
import { type ClaimedMessage, freeClaimsOf } from './mail.claim.ts'
import { createLanes } from './mail.lanes.ts'
import { createReconciler } from './mail.reconcile.ts'
import type { Result } from './mail.record.ts'

/** Whoever closes the app has waited for its callers already. */
const finishMs = 2000
const readyMs = 5000

/** Carries what its process has inserted as claimed, at once, on the same path as the job. */
export interface Sender {
  /** The worker to claim under; null where the database is away. */
  ready(): Promise<number | null>
  /** Resolves with what was recorded of the message, or null: after `limitMs`, or where the job has it. */
  carry(claimed: ClaimedMessage, limitMs: number): Promise<Result | null>
  /** A transaction that inserts claimed messages has failed, and may be committed all the same. */
  suspect(): void
}

const open = (app: App): Sender => {
  const lanes = createLanes()
  const waiters = new Map<string, (result: Result | null) => void>()
  const connected = Promise.withResolvers<void>()

  const worker = openWorker(app.database, 'mail', [], {
    notice() {},
    connected: () => connected.resolve(),
    died: (ids) => freeClaimsOf(app, ids),
  })

  const carrier = createCarrier(app, lanes, {
    settled({ id }, result) {
      waiters.get(id)?.(result)
      waiters.delete(id)
    },
    freed() {},
    report: app.report,
  })

  const reconciler = createReconciler(app, { worker: () => worker.id, held: carrier.held, report: app.report })

  app.onClose(async () => {
    reconciler.close()
    await carrier.finish(finishMs)
    await Promise.race([worker.close(), sleep(settleMs, undefined, { ref: false })])
  })

  return {
    async ready() {
      if (worker.id === null) await Promise.race([connected.promise, sleep(readyMs, undefined, { ref: false })])
      return worker.id
    },
    async carry(claimed, limitMs) {
      const verdict = Promise.withResolvers<Result | null>()
      waiters.set(claimed.id, verdict.resolve)
      carrier.hold([claimed])
      lanes.push(claimed, performance.now())
      carrier.pump()
      const timer = setTimeout(() => {
        waiters.delete(claimed.id)
        verdict.resolve(null)
        // It waits behind others that the relay has not answered: another process may have more luck.
        carrier.giveBack(lanes.takeBack(({ id }) => id === claimed.id))
      }, limitMs)
      try {
        return await verdict.promise
      } finally {
        clearTimeout(timer)
      }
    },
    suspect: reconciler.suspect,
  }
}

const senders = new WeakMap<App['database'], Sender>()

/** The sender of the process, opened at its first mail. */
export const senderOf = (app: App): Sender => senders.getOrInsertComputed(app.database, () => open(app))
