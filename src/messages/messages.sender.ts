import { type Engine, openQueue } from '../queue/engine.ts'
import type { App } from '../store/work.ts'
import { type Carrier, createCarrier } from './mail.carrier.ts'
import type { ClaimedMessage } from './mail.claim.ts'
import { createLanes } from './mail.lanes.ts'
import type { Result } from './mail.record.ts'

/** The process has already waited for its callers when it closes the app. */
const finishMs = 2000
const readyMs = 5000

/** Carries what its process has inserted as claimed, at once, on the same path as the job. */
export interface Sender {
  /** The worker to claim under; null while the database is away. */
  ready(): Promise<number | null>
  /** Resolves with what was recorded of the message, or null: after `limitMs`, or if the job has it. */
  carry(claimed: ClaimedMessage, limitMs: number): Promise<Result | null>
  /** A transaction that inserts claimed messages has failed, and may be committed all the same. */
  unsure(): void
}

const open = (app: App): Sender => {
  const lanes = createLanes()
  const waiters = new Map<string, (result: Result | null) => void>()
  const settled = ({ id }: ClaimedMessage, result: Result | null) => {
    waiters.get(id)?.(result)
    waiters.delete(id)
  }
  let carrier!: Carrier

  const queue = openQueue<ClaimedMessage>(app, app.report, (engine: Engine<ClaimedMessage>) => {
    carrier = createCarrier(app, engine, lanes, { settled, freed() {}, report: app.report })
    return Object.assign(carrier.adapter, {
      channels: [],
      notice() {},
      missed() {},
      // It claims nothing: what it carries is inserted as claimed.
      claim: async () => {},
      waitMs: () => Number.POSITIVE_INFINITY,
      finish: () => carrier.finish(finishMs),
    })
  })
  app.onClose(queue.close)

  return {
    ready: () => queue.ready(readyMs),
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
    unsure: queue.unsure,
  }
}

const senders = new WeakMap<App['database'], Sender>()

/** The sender of the process, opened at its first mail. */
export const senderOf = (app: App): Sender => senders.getOrInsertComputed(app.database, () => open(app))
