import { setTimeout as sleep } from 'node:timers/promises'
import { createBatches } from '../../queue/batches.ts'
import type { Adapter, Engine } from '../../queue/engine.ts'
import { settleMs, within } from '../../queue/loop.ts'
import type { App, Report } from '../../store/work.ts'
import type { createRelayQueues } from './capacity.ts'
import { type ClaimedMessage, type Content, freeClaims, queueTable, releaseClaims } from './claim.ts'
import { createComposer } from './compose.ts'
import { loadContents } from './mark.ts'
import { failedResult, type Result, recordResults, resultOfSend, suppressedResult, unrecordable } from './record.ts'
import { createSuppressor } from './suppress.ts'

const batchSize = 200
/** A message that was not sent because of an unexpected error is due again after this time. */
const errorRetryMs = 60_000
/** The result of a bounced message waits at most this long for the suppression of its address. */
const suppressMs = 1000

export interface Carrier {
  /** The parts of the queue engine's adapter that the carrier implements. */
  readonly adapter: Pick<Adapter<ClaimedMessage>, 'job' | 'table' | 'isStuck' | 'release' | 'free'>
  /** Starts the messages that wait for their relays, up to the relays' limits. */
  pump(): void
  /** Releases claims that no connection has taken. */
  giveBack(claims: readonly ClaimedMessage[]): void
  /** Suppresses the addresses of recorded bounces. */
  suppress(): void
  /**
   * Releases the messages that no connection has taken. Messages on a connection have `deadlineMs` to finish; then the connections
   * are closed. Resolves when all results are recorded, a few seconds later at most.
   */
  finish(deadlineMs: number): Promise<void>
}

interface CarrierCallbacks {
  /** Called when the result is recorded; null: the message was released, or belongs to another worker. */
  settled(claimed: ClaimedMessage, result: Result | null): void
  /** Called when a relay has free capacity. */
  freed(): void
  report: Report
}

/** A message that a connection has taken, and that waits to be marked. `fault`: an unexpected error prevented the mark. */
interface MarkRequest {
  claimed: ClaimedMessage
  answer(mark: 'marked' | 'lost' | 'fault'): void
}

const isResult = (item: Result | MarkRequest): item is Result => 'status' in item
const isMarkRequest = (item: Result | MarkRequest): item is MarkRequest => !isResult(item)

/**
 * Returns the carrier, which takes messages from their claim to their record, for the mail job and for POST /send alike: load, wait
 * for a connection, mark, hand over, record. Each step works in batches. A message's slot is free when its result is recorded.
 */
export const createCarrier = (
  app: App,
  queue: Pick<Engine<ClaimedMessage>, 'giveBack' | 'untrack'>,
  relays: ReturnType<typeof createRelayQueues>,
  { settled, freed, report }: CarrierCallbacks,
): Carrier => {
  const compose = createComposer(app)
  const suppressor = createSuppressor(app, report)
  const inProgress = new Set<Promise<void>>()
  let isFinishing = false

  const freeSlot = (claimed: ClaimedMessage) => {
    relays.done(claimed)
    pump()
    freed()
  }

  const done = (claimed: ClaimedMessage, result: Result | null) => {
    queue.untrack(claimed)
    settled(claimed, result)
    freeSlot(claimed)
  }

  /** Releases a message that occupies a slot; it is due again after `waitMs`. */
  const withdraw = (claimed: ClaimedMessage, waitMs: number) => {
    settled(claimed, null)
    queue.giveBack([{ ...claimed, retryMs: waitMs }])
    freeSlot(claimed)
  }

  const recorded = (result: Result) => {
    const { claimed } = result
    if (!result.isBounced) return done(claimed, result)
    // The slot is freed at once; the caller gets the result only after the address is suppressed.
    queue.untrack(claimed)
    const suppressed = Promise.race([suppressor.run(), sleep(suppressMs, undefined, { ref: false })])
    suppressed.then(() => settled(claimed, result))
    freeSlot(claimed)
  }

  const recorder = createBatches<Result | MarkRequest>(batchSize, {
    async run(batch) {
      const results = batch.filter(isResult)
      const taken = batch.filter(isMarkRequest)
      const claims = taken.map(({ claimed }) => claimed)
      const { written, corrected, locked, marked } = await recordResults(app.sql, results, claims)
      for (const { claimed, answer } of taken) answer(marked.has(claimed.id) ? 'marked' : 'lost')
      for (const { status } of written) if (status !== 'queued') app.counters.count('sends', status)
      for (const { status } of corrected) if (status === 'sent') app.counters.count('sends', status)
      const known = new Set([...written, ...corrected, ...locked])
      for (const result of [...written, ...corrected]) recorded(result)
      for (const result of results) if (!known.has(result)) done(result.claimed, null)
      return locked
    },
    failed(item, fault) {
      const isGivenUp = isResult(item) && item.isReplacement
      if (!isGivenUp) report(fault, { message: item.claimed.id })
      if (!isResult(item)) item.answer('fault')
      else if (isGivenUp) done(item.claimed, null)
      else recorder.push([unrecordable(item)])
    },
  })

  const handOver = async (claimed: ClaimedMessage, content: Content): Promise<void> => {
    let waitMs = 0
    const start = async (): Promise<boolean> => {
      const { promise, resolve: answer } = Promise.withResolvers<'marked' | 'lost' | 'fault'>()
      recorder.push([{ claimed, answer }])
      const answered = await promise
      if (answered === 'fault') waitMs = errorRetryMs
      return answered === 'marked'
    }
    try {
      const composed = await compose(claimed, content)
      if (!composed) return recorder.push([failedResult(claimed, 'The sending method or the project is gone')])
      if (isFinishing) return withdraw(claimed, 0)
      const outcome = await app.smtp.send(composed.relay, composed.mail, start)
      if (outcome.kind === 'withdrawn') return withdraw(claimed, waitMs)
      const random = Math.random()
      giveBack(relays.answered(claimed, outcome, performance.now(), random))
      recorder.push([resultOfSend(claimed, outcome, random)])
    } catch (fault) {
      // An unexpected error before anything was sent says nothing about the message, so it is tried again.
      report(fault, { message: claimed.id })
      withdraw(claimed, errorRetryMs)
    }
  }

  const begin = (claimed: ClaimedMessage, content: Content) => {
    const handed = handOver(claimed, content).finally(() => inProgress.delete(handed))
    inProgress.add(handed)
  }

  const load = createBatches<ClaimedMessage>(batchSize, {
    async run(batch) {
      const contents = await loadContents(app.sql, batch)
      for (const claimed of batch) {
        const content = contents.get(claimed.id)
        if (!content) withdraw(claimed, errorRetryMs)
        else if (content.reason !== null) recorder.push([suppressedResult(claimed, content.reason)])
        else begin(claimed, content)
      }
      return []
    },
    failed(claimed, fault) {
      report(fault, { message: claimed.id })
      withdraw(claimed, errorRetryMs)
    },
  })

  const giveBack = (claims: readonly ClaimedMessage[]) => {
    for (const claimed of claims) settled(claimed, null)
    queue.giveBack(claims)
  }

  const pump = () => {
    if (isFinishing) return
    for (const claimed of relays.next(performance.now())) {
      if (claimed.content) begin(claimed, claimed.content)
      else load.push([claimed])
    }
  }

  const allHandedOver = async () => {
    do {
      await Promise.all(inProgress)
      await load.flush(settleMs)
    } while (inProgress.size > 0)
  }

  return {
    adapter: {
      job: 'mail',
      table: queueTable,
      get isStuck() {
        return recorder.isStuck
      },
      release: (claims) => releaseClaims(app.sql, claims),
      free: (claims) => freeClaims(app, claims),
    },
    pump,
    giveBack,
    suppress: () => void suppressor.run(),
    async finish(deadlineMs) {
      isFinishing = true
      giveBack(relays.takeBack(() => true))
      app.smtp.drain()
      await within(deadlineMs, allHandedOver())
      app.smtp.close()
      await within(settleMs, allHandedOver())
      await Promise.all([recorder.close(settleMs), load.close(settleMs)])
      await within(settleMs, suppressor.close())
    },
  }
}
