import { setTimeout as sleep } from 'node:timers/promises'
import { createBatches } from '../queue/batches.ts'
import type { Adapter, Engine } from '../queue/engine.ts'
import { settleMs, within } from '../queue/loop.ts'
import type { App, Report } from '../store/work.ts'
import { type ClaimedMessage, type Content, freeClaims, queueTable, releaseClaims } from './mail.claim.ts'
import { createComposer } from './mail.compose.ts'
import type { createLanes } from './mail.lanes.ts'
import { loadContents } from './mail.mark.ts'
import { failedResult, judge, type Result, recordResults, suppressedResult, unrecordable } from './mail.record.ts'
import { createSuppressor } from './mail.suppress.ts'

const batchSize = 200
const gatherMs = 4
/** A lone call of POST /send passes twice within a few milliseconds: its mark, then its result. */
const ledgerGatherMs = 1
/** A message that an unexpected error prevented from being sent is due again after this time. */
const faultMs = 60_000
/** The caller who learns of a bounce waits at most this long for the suppression of the address. */
const suppressMs = 1000

export interface Carrier {
  /** What the queue engine is given of it. */
  readonly adapter: Pick<
    Adapter<ClaimedMessage>,
    'job' | 'table' | 'isStuck' | 'holds' | 'release' | 'released' | 'free'
  >
  /** Takes over claims, before anything else is done with them. */
  hold(claims: readonly ClaimedMessage[]): void
  /** Hands over messages that wait in the lanes, as far as the lanes allow. */
  pump(): void
  /** Releases claims that no connection has taken. */
  giveBack(claims: readonly ClaimedMessage[]): void
  /** Suppresses the addresses of bounces that are recorded. */
  suppress(): void
  /**
   * Releases what no connection has taken. What is on a connection has `deadlineMs` to end; then the connections are cut.
   * Resolves when all results are recorded, a few seconds later at most.
   */
  finish(deadlineMs: number): Promise<void>
}

interface Ports {
  /** The result is recorded; null: the message was released, or belongs to another worker. */
  settled(claimed: ClaimedMessage, result: Result | null): void
  /** There is room in a lane. */
  freed(): void
  report: Report
}

/** A message that a connection has taken and that waits for its mark; `fault`: the mark failed unexpectedly. */
interface Taken {
  claimed: ClaimedMessage
  answer(mark: 'marked' | 'lost' | 'fault'): void
}

const isResult = (item: Result | Taken): item is Result => 'status' in item
const isTaken = (item: Result | Taken): item is Taken => !isResult(item)

/**
 * Carries messages from their claim to their record, the same way for the job and for POST /send: load, wait for a connection,
 * mark, hand over, record. Each step is batched; a message's slot is free when its result is recorded.
 */
export const createCarrier = (
  app: App,
  queue: Pick<Engine<ClaimedMessage>, 'giveBack'>,
  lanes: ReturnType<typeof createLanes>,
  { settled, freed, report }: Ports,
): Carrier => {
  const compose = createComposer(app)
  const suppressor = createSuppressor(app, report)
  const held = new Map<string, ClaimedMessage>()
  const handing = new Set<Promise<void>>()
  let isFinishing = false

  const drop = (claimed: ClaimedMessage) => {
    if (held.get(claimed.id)?.claim === claimed.claim) held.delete(claimed.id)
  }

  const done = (claimed: ClaimedMessage, result: Result | null) => {
    drop(claimed)
    lanes.done(claimed)
    settled(claimed, result)
    pump()
    freed()
  }

  /** Releases a message that has a slot; it is due again after `waitMs`. */
  const withdraw = (claimed: ClaimedMessage, waitMs: number) => {
    lanes.done(claimed)
    settled(claimed, null)
    queue.giveBack([{ ...claimed, retryMs: waitMs }])
    pump()
    freed()
  }

  const recorded = (result: Result) => {
    if (!result.isBounced) return done(result.claimed, result)
    // The slot is free at once, and the caller learns of it when the address is suppressed.
    const { claimed } = result
    drop(claimed)
    lanes.done(claimed)
    const suppressed = Promise.race([suppressor.run(), sleep(suppressMs, undefined, { ref: false })])
    suppressed.then(() => settled(claimed, result))
    pump()
    freed()
  }

  const ledger = createBatches<Result | Taken>(
    { size: batchSize, gatherMs: ledgerGatherMs },
    {
      async run(batch) {
        const results = batch.filter(isResult)
        const taken = batch.filter(isTaken)
        const claims = taken.map(({ claimed }) => claimed)
        const { written, corrected, locked, marked } = await recordResults(app.sql, results, claims)
        for (const { claimed, answer } of taken) answer(marked.has(claimed.id) ? 'marked' : 'lost')
        for (const { status } of written) if (status !== 'queued') app.tallies.count('sends', status)
        for (const { status } of corrected) if (status === 'sent') app.tallies.count('sends', status)
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
        else ledger.push([unrecordable(item)])
      },
    },
  )

  const handOver = async (claimed: ClaimedMessage, content: Content): Promise<void> => {
    let waitMs = 0
    const start = async (): Promise<boolean> => {
      const { promise, resolve: answer } = Promise.withResolvers<'marked' | 'lost' | 'fault'>()
      ledger.push([{ claimed, answer }])
      const answered = await promise
      if (answered === 'fault') waitMs = faultMs
      return answered === 'marked'
    }
    try {
      const composed = await compose(claimed, content)
      if (!composed) return ledger.push([failedResult(claimed, 'The sending method or the project is gone')])
      if (isFinishing) return withdraw(claimed, 0)
      const outcome = await app.smtp.send(composed.relay, composed.mail, start)
      if (outcome.kind === 'withdrawn') return withdraw(claimed, waitMs)
      const random = Math.random()
      giveBack(lanes.answered(claimed, outcome, performance.now(), random))
      ledger.push([judge(claimed, outcome, random)])
    } catch (fault) {
      // An internal error before anything was sent: it is no verdict on the message.
      report(fault, { message: claimed.id })
      withdraw(claimed, faultMs)
    }
  }

  const begin = (claimed: ClaimedMessage, content: Content) => {
    const handed = handOver(claimed, content).finally(() => handing.delete(handed))
    handing.add(handed)
  }

  const load = createBatches<ClaimedMessage>(
    { size: batchSize, gatherMs },
    {
      async run(batch) {
        const contents = await loadContents(app.sql, batch)
        for (const claimed of batch) {
          const content = contents.get(claimed.id)
          if (!content) withdraw(claimed, faultMs)
          else if (content.reason !== null) ledger.push([suppressedResult(claimed, content.reason)])
          else begin(claimed, content)
        }
        return []
      },
      failed(claimed, fault) {
        report(fault, { message: claimed.id })
        withdraw(claimed, faultMs)
      },
    },
  )

  const giveBack = (claims: readonly ClaimedMessage[]) => {
    for (const claimed of claims) settled(claimed, null)
    queue.giveBack(claims)
  }

  const pump = () => {
    if (isFinishing) return
    for (const claimed of lanes.next(performance.now())) {
      if (claimed.content) begin(claimed, claimed.content)
      else load.push([claimed])
    }
  }

  const allHandedOver = async () => {
    do {
      await Promise.all(handing)
      await load.flush(settleMs)
    } while (handing.size > 0)
  }

  return {
    adapter: {
      job: 'mail',
      table: queueTable,
      get isStuck() {
        return ledger.isStuck
      },
      holds: (id) => held.has(id),
      release: (claims) => releaseClaims(app.sql, claims),
      released: (claims) => claims.forEach(drop),
      free: (claims) => freeClaims(app, claims),
    },
    hold(claims) {
      for (const claimed of claims) held.set(claimed.id, claimed)
    },
    pump,
    giveBack,
    suppress: () => void suppressor.run(),
    async finish(deadlineMs) {
      isFinishing = true
      giveBack(lanes.takeBack(() => true))
      app.smtp.drain()
      await within(deadlineMs, allHandedOver())
      app.smtp.close()
      await within(settleMs, allHandedOver())
      await Promise.all([ledger.close(settleMs), load.close(settleMs)])
      await within(settleMs, suppressor.close())
    },
  }
}
