import { timeoutBackoffMs } from '../../lib/backoff.ts'
import type { SendOutcome } from '../../net/smtp.ts'
import { Endpoint, type Policy } from '../../queue/capacity.ts'
import { largeMails } from '../messages.queue.ts'
import type { ClaimedMessage, Stream } from './outbox.claim.ts'

/**
 * Maximum messages in flight per relay: loaded, on a connection, or not recorded yet. After a crash the state of only those on a
 * connection is unknown.
 */
const inFlightLimit = 30
/** Maximum large messages in flight per relay, of its 5 connections. */
export const largeLimit = 2

export const policy: Policy = { limits: { new: 5, answering: inFlightLimit, hanging: 1 }, stallMs: 3000 }

/** The kinds of messages, in the order in which a relay gets them. */
const kinds = ['single', 'large', 'batch'] as const
export type Kind = (typeof kinds)[number]

export const kindOf = ({ batch }: Pick<Stream, 'batch'>): Kind =>
  batch === '' ? 'single' : batch === largeMails ? 'large' : 'batch'

/** Returns the rank of a message, or a stream: a lower one goes first. */
export const rankOf = (stream: Pick<Stream, 'batch'>): number => kinds.indexOf(kindOf(stream))

const isLarge = (claimed: ClaimedMessage): boolean => kindOf(claimed) === 'large'

/** The messages that this process has claimed for a relay. Times are in ms of `performance.now()`. */
export class RelayQueue extends Endpoint<ClaimedMessage> {
  /** Number of messages of each kind, waiting or in flight. */
  readonly counts: Record<Kind, number> = { single: 0, large: 0, batch: 0 }
  /** Number of large messages in flight. */
  largeInFlight = 0

  constructor(nowMs: number) {
    super(policy, 'new', nowMs)
  }

  get #smallInFlight(): number {
    return this.inFlight - this.largeInFlight
  }

  /** A relay that has only large messages in flight is not stalled: they take long. */
  override isStalled(nowMs: number): boolean {
    return this.#smallInFlight > 0 && super.isStalled(nowMs)
  }

  /** Returns how many more messages of a kind may be claimed. Batches and large messages take no capacity from single ones. */
  capacityFor(kind: Kind, nowMs: number): number {
    if (kind === 'single') return this.capacity(nowMs, this.counts.single)
    if (kind === 'batch') return this.capacity(nowMs)
    const most = this.capacity(nowMs, 0) > 0 ? Math.min(this.limit, largeLimit) : 0
    return Math.max(0, most - this.counts.large)
  }

  push(claimed: ClaimedMessage): void {
    this.counts[kindOf(claimed)]++
    this.#enqueue(claimed)
  }

  /** Adds a message behind those of its kind. */
  #enqueue(claimed: ClaimedMessage): void {
    const rank = rankOf(claimed)
    const behind = this.waiting.findIndex((waiting) => rankOf(waiting) > rank)
    this.waiting.splice(behind < 0 ? this.waiting.length : behind, 0, claimed)
  }

  /** Removes and returns the messages that can be sent now, among them at most `largeCapacity` large ones. */
  startSome(largeCapacity: number, nowMs: number): ClaimedMessage[] {
    const held = this.#holdLarge(Math.min(largeCapacity, largeLimit - this.largeInFlight))
    const hadSmall = this.#smallInFlight > 0
    const begun = this.start(inFlightLimit, nowMs)
    if (!hadSmall && begun.length > 0) this.busyAt = nowMs
    this.largeInFlight += begun.filter(isLarge).length
    for (const claimed of held) this.#enqueue(claimed)
    return begun
  }

  /** Removes and returns the waiting large messages, except the first `kept`. */
  #holdLarge(kept: number): ClaimedMessage[] {
    if (this.counts.large === this.largeInFlight) return []
    const held = new Set(this.waiting.filter(isLarge).slice(Math.max(0, kept)))
    return super.takeBack((claimed) => held.has(claimed))
  }

  /** Notes the outcome of a hand-over, and returns whether the relay is available. */
  note(outcome: SendOutcome, nowMs: number, random: number): boolean {
    const isAway = outcome.kind === 'unreached' || (outcome.kind === 'refused' && outcome.code === 421)
    if (!isAway && outcome.kind !== 'unknown') this.answered(nowMs)
    else this.setHealth('hanging')
    if (!isAway) return true
    // Messages that were in flight at the same time fail together: this counts as one failure.
    if (nowMs >= this.quietUntil) this.failures++
    this.backOff(timeoutBackoffMs(this.failures + 1, random), nowMs)
    return false
  }

  /** Frees the capacity of a message in flight. */
  done(claimed: ClaimedMessage): void {
    this.inFlight--
    this.counts[kindOf(claimed)]--
    if (isLarge(claimed)) this.largeInFlight--
  }

  override takeBack(isChosen: (claimed: ClaimedMessage) => boolean): ClaimedMessage[] {
    const back = super.takeBack(isChosen)
    for (const claimed of back) this.counts[kindOf(claimed)]--
    return back
  }
}
