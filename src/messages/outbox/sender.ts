import { type Engine, openQueue } from '../../queue/engine.ts'
import type { App } from '../../store/work.ts'
import { type Carrier, createCarrier } from './carrier.ts'
import { createRelayQueues } from './outbox.capacity.ts'
import { type ClaimedMessage, mailQueue } from './outbox.claim.ts'
import type { Result } from './outbox.record.ts'
import { createSuppressor } from './outbox.suppress.ts'

/** Short, because the process has waited for its callers before it closes the app. */
const finishMs = 2000
const readyMs = 5000

/** Sends messages of POST /send at once, in the process that inserted them, on the same path as the mail job. */
interface Sender {
  /** Resolves with the worker to claim under, or null while the database is unavailable. */
  ready(): Promise<number | null>
  /** An operator has paused the queue of messages: they are inserted unclaimed, and wait in it. */
  readonly isHeld: boolean
  /** Resolves with the recorded result, or with null after `limitMs` or if the message went back to the queue. */
  carry(claimed: ClaimedMessage, limitMs: number): Promise<Result | null>
  /** Reports that a transaction that inserts claimed messages has failed, although it may have committed. */
  reconcileSoon(): void
}

const open = (app: App): Sender => {
  const relays = createRelayQueues()
  const waiters = new Map<string, (result: Result | null) => void>()
  const settled = ({ id }: ClaimedMessage, result: Result | null) => {
    waiters.get(id)?.(result)
    waiters.delete(id)
  }
  let carrier!: Carrier

  const queue = openQueue<ClaimedMessage>(app, app.report, (engine: Engine<ClaimedMessage>) => {
    const suppressor = createSuppressor(app, app.report)
    carrier = createCarrier(app, engine, relays, suppressor, { settled, freed() {}, report: app.report })
    return {
      ...mailQueue(app),
      get isStuck() {
        return carrier.isStuck
      },
      channels: [],
      notice() {},
      missed() {},
      // This queue claims nothing: its messages are inserted as claimed.
      claim: async () => {},
      hold: () => carrier.giveBack(relays.takeBack(() => true)),
      waitMs: () => Number.POSITIVE_INFINITY,
      finish: () => carrier.finish(finishMs),
    }
  })
  app.onClose(queue.close)

  return {
    ready: () => queue.ready(readyMs),
    get isHeld() {
      return queue.isHeld
    },
    async carry(claimed, limitMs) {
      const recorded = Promise.withResolvers<Result | null>()
      waiters.set(claimed.id, recorded.resolve)
      queue.track([claimed])
      relays.push(claimed, performance.now())
      carrier.pump()
      // It was paused after the message was inserted as claimed.
      if (queue.isHeld) carrier.giveBack(relays.takeBack(({ id }) => id === claimed.id))
      const timer = setTimeout(() => {
        waiters.delete(claimed.id)
        recorded.resolve(null)
        // If it still waits behind messages that the relay has not answered, another process may send it sooner.
        carrier.giveBack(relays.takeBack(({ id }) => id === claimed.id))
      }, limitMs)
      try {
        return await recorded.promise
      } finally {
        clearTimeout(timer)
      }
    },
    reconcileSoon: queue.reconcileSoon,
  }
}

const senders = new WeakMap<App['database'], Sender>()

/** Returns the sender of the process, opened at the first message. */
export const senderOf = (app: App): Sender => senders.getOrInsertComputed(app.database, () => open(app))
