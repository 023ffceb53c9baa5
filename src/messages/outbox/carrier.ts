import { setTimeout as sleep } from 'node:timers/promises'
import { asciiAddress } from '../../lib/email.ts'
import { createBatches } from '../../queue/batches.ts'
import type { Engine } from '../../queue/engine.ts'
import { settleMs, within } from '../../queue/loop.ts'
import type { App, Report } from '../../store/work.ts'
import { loadAttachments } from './attachments.ts'
import { createComposer } from './compose.ts'
import { type Loaded, loadContents } from './mark.ts'
import type { createRelayQueues } from './outbox.capacity.ts'
import type { ClaimedMessage, Content } from './outbox.claim.ts'
import { lackingResult, type Result, recordAll, resultOfSend, suppressedResult, unrecordable } from './outbox.record.ts'
import type { Suppressor } from './outbox.suppress.ts'

const batchSize = 200
/** A message that was not sent because of an unexpected error is due again after this time. */
const errorRetryMs = 60_000
/** The result of a bounced message waits at most this long for the suppression of its address. */
const suppressMs = 1000

export interface Carrier {
  /** The database accepts no results at the moment. */
  readonly isStuck: boolean
  /** Starts the messages that wait for their relays, up to the relays' limits. */
  pump(): void
  /** Releases claims that no connection has taken. */
  giveBack(claims: readonly ClaimedMessage[]): void
  /**
   * Releases the messages that no connection has taken. Messages on a connection have `deadlineMs` to finish; then the connections
   * are closed. Resolves when all results are recorded, a few seconds later at most.
   */
  finish(deadlineMs: number): Promise<void>
}

interface CarrierCallbacks {
  /** It is called when the result is recorded, with null if the message was released, or belongs to another worker. */
  settled(claimed: ClaimedMessage, result: Result | null): void
  /** Called when a relay has free capacity. */
  freed(): void
  report: Report
}

/*
 * The states of a claimed message in this process. Each row of the table with a transition is one case of `move`.
 *
 * | from              | to        | transition | why |
 * |-------------------|-----------|------------|-----|
 * | –                 | waiting   |            | capacity.ts: it is claimed, and waits for a slot of its relay |
 * | waiting           | returned  |            | `giveBack`: its relay is stalled or away, or the process stops |
 * | waiting           | loading   | load       | a slot is free, and its content must be read |
 * | waiting, loading  | sending   | send       | its content is known |
 * | loading           | recording | record     | its recipient is suppressed, or it can't be sent any more (`lackOf`) |
 * | sending           | recording | record     | the hand-over has an outcome, or the sending method or the project is gone |
 * | recording         | recording | record     | the database refused the result, and a fixed one replaces it |
 * | loading, sending  | returned  | withdraw   | nothing was sent: the claim is lost, an unexpected error occurred, or the process stops |
 * | recording         | ended     | end        | the result is recorded, the claim is lost, or the database refused the fixed result, too |
 *
 * A message occupies a slot from `loading` or `sending` on, until it is returned or has ended.
 */
type Transition =
  | { kind: 'load' }
  | { kind: 'send'; content: Content }
  | { kind: 'record'; result: Result }
  /** It is due again after `waitMs`. */
  | { kind: 'withdraw'; waitMs: number }
  /** `result` null: nothing was recorded. */
  | { kind: 'end'; result: Result | null }

/** A message that a connection has taken, and that waits to be marked. With `fault`, an unexpected error prevented the mark. */
interface MarkRequest {
  claimed: ClaimedMessage
  answer(mark: 'marked' | 'lost' | 'fault'): void
}

/** Returns why a message that was accepted, such as a scheduled one, can't be sent any more, in a sentence, or null if it can. */
const lackOf = (loaded: Loaded): string | null => {
  const { senders, isWithoutProject, isWithoutTopic, isExpired, sealedKey, fromEmail } = loaded
  if (isExpired) return 'It could not be sent in time'
  if (isWithoutProject) return 'The project was deleted before the scheduled time'
  if (isWithoutTopic) return 'The topic was deleted'
  const mayUseDomain = sealedKey !== null
  if (!senders || mayUseDomain || senders.some((email) => asciiAddress(email) === fromEmail)) return null
  return 'The sender was deleted before the scheduled time'
}

const isResult = (item: Result | MarkRequest): item is Result => 'status' in item
const isMarkRequest = (item: Result | MarkRequest): item is MarkRequest => !isResult(item)

/**
 * Returns the carrier, which takes messages from their claim to their record, for the mail job and for POST /send alike: load, wait
 * for a connection, mark, hand over, record. Each step works in batches. A message's slot is free when its result is recorded.
 */
export const createCarrier = (
  app: App,
  queue: Pick<Engine<ClaimedMessage>, 'giveBack' | 'untrack' | 'isHeld'>,
  relays: ReturnType<typeof createRelayQueues>,
  suppressor: Suppressor,
  { settled, freed, report }: CarrierCallbacks,
): Carrier => {
  const compose = createComposer(app)
  const inProgress = new Set<Promise<void>>()
  let isFinishing = false

  const freeSlot = (claimed: ClaimedMessage) => {
    relays.done(claimed)
    pump()
    freed()
  }

  /** Reports the result to the caller of POST /send: that of a bounced message only after its address is suppressed. */
  const settle = (claimed: ClaimedMessage, result: Result | null) => {
    if (!result?.isBounced) return settled(claimed, result)
    const suppressed = Promise.race([suppressor.run(), sleep(suppressMs, undefined, { ref: false })])
    void suppressed.then(() => settled(claimed, result))
  }

  const move = (claimed: ClaimedMessage, to: Transition): void => {
    switch (to.kind) {
      case 'load':
        loader.push([claimed])
        break
      case 'send': {
        const sending = send(claimed, to.content)
          .then((next) => move(claimed, next))
          .finally(() => inProgress.delete(sending))
        inProgress.add(sending)
        break
      }
      case 'record':
        recorder.push([to.result])
        break
      case 'withdraw':
        settled(claimed, null)
        queue.giveBack([{ ...claimed, retryMs: to.waitMs }])
        freeSlot(claimed)
        break
      case 'end':
        queue.untrack(claimed)
        settle(claimed, to.result)
        freeSlot(claimed)
    }
  }

  const recorder = createBatches<Result | MarkRequest>(batchSize, {
    async run(batch) {
      const results = batch.filter(isResult)
      const taken = batch.filter(isMarkRequest)
      const claims = taken.map(({ claimed }) => claimed)
      const { written, corrected, locked, marked } = await recordAll(app, results, claims)
      for (const { claimed, answer } of taken) answer(marked.has(claimed.id) ? 'marked' : 'lost')
      for (const { status } of written) if (status !== 'queued') app.counters.count('sends', status)
      for (const { status } of corrected) if (status === 'sent') app.counters.count('sends', status)
      const known = new Set([...written, ...corrected, ...locked])
      for (const result of [...written, ...corrected]) move(result.claimed, { kind: 'end', result })
      for (const result of results) if (!known.has(result)) move(result.claimed, { kind: 'end', result: null })
      return locked
    },
    failed(item, fault) {
      const isGivenUp = isResult(item) && item.isReplacement
      if (!isGivenUp) report(fault, { message: item.claimed.id })
      if (!isResult(item)) item.answer('fault')
      else
        move(item.claimed, isGivenUp ? { kind: 'end', result: null } : { kind: 'record', result: unrecordable(item) })
    },
  })

  /** Composes a message and hands it to its relay. */
  const send = async (claimed: ClaimedMessage, content: Content): Promise<Transition> => {
    let waitMs = 0
    const start = async (): Promise<boolean> => {
      if (queue.isHeld) return false
      const { promise, resolve: answer } = Promise.withResolvers<'marked' | 'lost' | 'fault'>()
      recorder.push([{ claimed, answer }])
      const answered = await promise
      if (answered === 'fault') waitMs = errorRetryMs
      return answered === 'marked'
    }
    try {
      const composed = await compose(claimed, content)
      if (!composed)
        return { kind: 'record', result: lackingResult(claimed, 'The sending method or the project is gone') }
      if (isFinishing || queue.isHeld) return { kind: 'withdraw', waitMs: 0 }
      const { mail } = composed
      const load = async (of: string): Promise<boolean> => {
        try {
          mail.attachments = await loadAttachments(app.sql, content.accountId, of)
          return true
        } catch (fault) {
          report(fault, { message: claimed.id })
          waitMs = errorRetryMs
          return false
        }
      }
      const { attachmentsOf } = content
      const startLoaded = attachmentsOf === null ? start : async () => (await load(attachmentsOf)) && start()
      const outcome = await app.smtp.send(composed.relay, mail, startLoaded)
      if (outcome.kind === 'withdrawn') return { kind: 'withdraw', waitMs }
      const random = Math.random()
      giveBack(relays.answered(claimed, outcome, performance.now(), random))
      return { kind: 'record', result: resultOfSend(claimed, outcome, random) }
    } catch (fault) {
      // An unexpected error before anything was sent says nothing about the message, so it is tried again.
      report(fault, { message: claimed.id })
      return { kind: 'withdraw', waitMs: errorRetryMs }
    }
  }

  const afterLoad = (claimed: ClaimedMessage, content: Loaded | undefined): Transition => {
    if (!content) return { kind: 'withdraw', waitMs: errorRetryMs }
    if (content.reason !== null) return { kind: 'record', result: suppressedResult(claimed, content.reason) }
    const lack = lackOf(content)
    return lack ? { kind: 'record', result: lackingResult(claimed, lack) } : { kind: 'send', content }
  }

  const loader = createBatches<ClaimedMessage>(batchSize, {
    async run(batch) {
      const contents = await loadContents(app.sql, batch, app.now())
      for (const claimed of batch) move(claimed, afterLoad(claimed, contents.get(claimed.id)))
      return []
    },
    failed(claimed, fault) {
      report(fault, { message: claimed.id })
      move(claimed, { kind: 'withdraw', waitMs: errorRetryMs })
    },
  })

  const giveBack = (claims: readonly ClaimedMessage[]) => {
    for (const claimed of claims) settled(claimed, null)
    queue.giveBack(claims)
  }

  const pump = () => {
    if (isFinishing || queue.isHeld) return
    for (const claimed of relays.next(performance.now())) {
      const { content } = claimed
      move(claimed, content ? { kind: 'send', content } : { kind: 'load' })
    }
  }

  const allHandedOver = async () => {
    do {
      await Promise.all(inProgress)
      await loader.flush(settleMs)
    } while (inProgress.size > 0)
  }

  return {
    get isStuck() {
      return recorder.isStuck
    },
    pump,
    giveBack,
    async finish(deadlineMs) {
      isFinishing = true
      giveBack(relays.takeBack(() => true))
      app.smtp.drain()
      await within(deadlineMs, allHandedOver())
      app.smtp.close()
      await within(settleMs, allHandedOver())
      await Promise.all([recorder.close(settleMs), loader.close(settleMs)])
      await within(settleMs, suppressor.close())
    },
  }
}
