import { setTimeout as sleep } from 'node:timers/promises'
import { isUnavailable } from '../store/database.ts'
import type { App, Report } from '../store/work.ts'
import { type ClaimedMessage, type Content, releaseClaims, stillOurs } from './mail.claim.ts'
import { createComposer } from './mail.compose.ts'
import type { createLanes } from './mail.lanes.ts'
import { loadContents } from './mail.mark.ts'
import { createPipe } from './mail.pipe.ts'
import { failedResult, judge, type Result, recordResults, suppressedResult, unrecordable } from './mail.record.ts'
import { createSuppressor } from './mail.suppress.ts'

const batchSize = 200
const gatherMs = 4
/** A lone call of POST /send passes twice within a few milliseconds: its mark, then its result. */
const ledgerGatherMs = 1
const lockedRetryMs = 200
/** A message that an unexpected error prevented from being sent is due again after this time. */
const faultMs = 60_000
const recordMs = 3000
/** The caller who learns of a bounce waits at most this long for the suppression of the address. */
const suppressMs = 1000

export interface Carrier {
  /** The messages claimed by this process and neither recorded nor released, by their ids. */
  readonly held: ReadonlyMap<string, ClaimedMessage>
  /** Takes over claims, before anything else is done with them. */
  hold(claims: readonly ClaimedMessage[]): void
  /** Hands over messages that wait in the lanes, as far as the lanes allow. */
  pump(): void
  /** Releases claims that no connection has taken. */
  giveBack(claims: readonly ClaimedMessage[]): void
  /** Suppresses the addresses of bounces that are recorded. */
  suppress(): void
  /** The database takes no results at the moment: more claims would only leave more in doubt. */
  readonly isStuck: boolean
  /**
   * Releases what no connection has taken. What is on a connection has `deadlineMs` to end; then the connections are cut.
   * Resolves when all results are recorded, at most 3 s later.
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
  lanes: ReturnType<typeof createLanes>,
  { settled, freed, report }: Ports,
): Carrier => {
  const compose = createComposer(app)
  const suppressor = createSuppressor(app, report)
  const held = new Map<string, ClaimedMessage>()
  const handing = new Set<Promise<void>>()
  let isFinishing = false
  let isOver = false

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

  const later = (run: () => void) => {
    const waited = sleep(lockedRetryMs).then(() => {
      handing.delete(waited)
      if (!isOver) run()
    })
    handing.add(waited)
  }

  const release = createPipe<{ claimed: ClaimedMessage; waitMs: number }>(batchSize, {
    async run(batch) {
      for (const [waitMs, same] of Map.groupBy(batch, (item) => item.waitMs)) {
        const claims = same.map(({ claimed }) => claimed)
        await releaseClaims(app.sql, claims, waitMs)
        const locked = await stillOurs(app.sql, claims)
        for (const claimed of claims) if (!locked.has(claimed.id)) drop(claimed)
        if (locked.size > 0) later(() => release.push(same.filter(({ claimed }) => locked.has(claimed.id))))
      }
    },
    gatherMs,
    isPassing: isUnavailable,
    failed({ claimed }, fault) {
      drop(claimed)
      report(fault, { message: claimed.id })
    },
  })

  /** Releases a message that has a slot; it is due again after `waitMs`. */
  const withdraw = (claimed: ClaimedMessage, waitMs: number) => {
    lanes.done(claimed)
    settled(claimed, null)
    release.push([{ claimed, waitMs }])
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

  const ledger = createPipe<Result | Taken>(batchSize, {
    async run(batch) {
      const results = batch.filter(isResult)
      const taken = batch.filter(isTaken)
      const claims = taken.map(({ claimed }) => claimed)
      const { written, corrected, locked, marked } = await recordResults(app.sql, results, claims)
      for (const { claimed, answer } of taken) answer(marked.has(claimed.id) ? 'marked' : 'lost')
      if (locked.length > 0) later(() => ledger.push(locked))
      for (const { status } of written) if (status !== 'queued') app.tallies.count('sends', status)
      for (const { status } of corrected) if (status === 'sent') app.tallies.count('sends', status)
      const known = new Set([...written, ...corrected, ...locked])
      for (const result of [...written, ...corrected]) recorded(result)
      for (const result of results) if (!known.has(result)) done(result.claimed, null)
    },
    gatherMs: ledgerGatherMs,
    isPassing: isUnavailable,
    failed(item, fault) {
      const isGivenUp = isResult(item) && item.isReplacement
      if (!isGivenUp) report(fault, { message: item.claimed.id })
      if (!isResult(item)) item.answer('fault')
      else if (isGivenUp) done(item.claimed, null)
      else ledger.push([unrecordable(item)])
    },
  })

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

  const load = createPipe<ClaimedMessage>(batchSize, {
    async run(batch) {
      const contents = await loadContents(app.sql, batch)
      for (const claimed of batch) {
        const content = contents.get(claimed.id)
        if (!content) withdraw(claimed, faultMs)
        else if (content.reason !== null) ledger.push([suppressedResult(claimed, content.reason)])
        else begin(claimed, content)
      }
    },
    gatherMs,
    isPassing: isUnavailable,
    failed(claimed, fault) {
      report(fault, { message: claimed.id })
      withdraw(claimed, faultMs)
    },
  })

  const giveBack = (claims: readonly ClaimedMessage[]) => {
    for (const claimed of claims) settled(claimed, null)
    release.push(claims.map((claimed) => ({ claimed, waitMs: 0 })))
  }

  const pump = () => {
    if (isFinishing) return
    for (const claimed of lanes.next(performance.now())) {
      if (claimed.content) begin(claimed, claimed.content)
      else load.push([claimed])
    }
  }

  // Locked rows are tried again a little later, which may begin anything again.
  const idle = async () => {
    do {
      await Promise.all(handing)
      await load.flush()
    } while (handing.size > 0)
  }

  const allRecorded = async () => {
    do {
      await idle()
      await Promise.all([ledger.flush(), release.flush()])
    } while (handing.size > 0)
  }

  return {
    held,
    hold(claims) {
      for (const claimed of claims) held.set(claimed.id, claimed)
    },
    pump,
    giveBack,
    suppress: () => void suppressor.run(),
    get isStuck() {
      return ledger.isStuck
    },
    async finish(deadlineMs) {
      isFinishing = true
      giveBack(lanes.takeBack(() => true))
      app.smtp.drain()
      const deadline = (ms: number) => sleep(ms, undefined, { ref: false })
      await Promise.race([idle(), deadline(deadlineMs)])
      app.smtp.close()
      await Promise.race([allRecorded().then(() => suppressor.close()), deadline(recordMs)])
      isOver = true
    },
  }
}
