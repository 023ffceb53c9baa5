import { timeoutBackoffMs } from '../../lib/backoff.ts'
import type { SendOutcome } from '../../net/smtp.ts'
import { Endpoint, type Policy, UnclaimedSince } from '../../queue/capacity.ts'
import { largeMails } from '../messages.queue.ts'
import { type ClaimedMessage, type ClaimRequest, type Found, type Stream, streamKey } from './outbox.claim.ts'

/*
 * Each relay has a queue in this process, and the accounts of a relay share its capacity. Single messages have priority: batches get
 * the capacity that single messages leave, and a single message waits for messages in flight only, never for a batch.
 *
 * Large messages take seconds on a connection, and their attachments are in memory meanwhile. So only a few are sent at a time: the
 * others leave connections and capacity to small messages.
 */

/** Maximum claims of a process at a time. */
const totalLimit = 2048
/**
 * Maximum messages in flight per relay: loaded, on a connection, or not recorded yet. After a crash the state of only those on a
 * connection is unknown.
 */
const inFlightLimit = 30
/** Maximum claims for all relays together that do not answer, or have not answered yet. */
const unprovenPool = 512
/** Maximum large messages in flight per relay, of its 5 connections. */
const largeLimit = 2
/** Maximum large messages in flight of a process, and of them those for relays that do not answer, or have not answered yet. */
const largeTotal = { all: 4, unproven: 2 }
const idleMs = 60_000

const policy: Policy = { limits: { new: 5, answering: inFlightLimit, hanging: 1 }, stallMs: 3000 }

const kinds = ['single', 'large', 'batch'] as const
type Kind = (typeof kinds)[number]

const kindOf = ({ batch }: Pick<Stream, 'batch'>): Kind =>
  batch === '' ? 'single' : batch === largeMails ? 'large' : 'batch'

/** The place of a message, or a stream, among others: lower first. */
const rankOf = (stream: Pick<Stream, 'batch'>): number => kinds.indexOf(kindOf(stream))

class RelayQueue extends Endpoint<ClaimedMessage> {
  /** Number of messages of each kind, waiting or in flight. */
  readonly counts: Record<Kind, number> = { single: 0, large: 0, batch: 0 }
  /** Number of large messages in flight. */
  largeInFlight = 0

  /** Large messages are not expected to be answered soon. */
  override isStalled(nowMs: number): boolean {
    return this.inFlight > this.largeInFlight && super.isStalled(nowMs)
  }

  /** As `start`; of large messages at most `large` begin. */
  startSome(most: number, large: number, nowMs: number): ClaimedMessage[] {
    let left = Math.min(large, largeLimit - this.largeInFlight)
    const held: ClaimedMessage[] = []
    if (this.counts.large > this.largeInFlight)
      this.waiting = this.waiting.filter((claimed) => {
        if (kindOf(claimed) !== 'large' || left-- > 0) return true
        held.push(claimed)
        return false
      })
    const hadSmall = this.inFlight > this.largeInFlight
    const begun = this.start(most, nowMs)
    if (!hadSmall && begun.length > 0) this.busyAt = nowMs
    this.largeInFlight += begun.filter((claimed) => kindOf(claimed) === 'large').length
    for (const claimed of held) this.enqueue(claimed)
    return begun
  }

  /** Adds a message behind those of its kind. */
  enqueue(claimed: ClaimedMessage): void {
    const rank = rankOf(claimed)
    const behind = this.waiting.findIndex((waiting) => rankOf(waiting) > rank)
    this.waiting.splice(behind < 0 ? this.waiting.length : behind, 0, claimed)
  }
}

/** Returns the key of a message's relay. All accounts without their own relay share the platform's. */
const relayKeyOf = ({ accountId, relay }: ClaimedMessage): string => (relay ? accountId : 'platform')

/** Returns the relay queues of a process. Times are in ms of `performance.now()`. */
export const createRelayQueues = () => {
  const relays = new Map<string, RelayQueue>()
  /** The relay key of each account's latest message. */
  const relayKeys = new Map<string, string>()
  /** Streams that may have unclaimed messages, least recently served first. */
  const streams = new Map<string, Stream & { since: UnclaimedSince }>()

  const queueOf = (claimed: ClaimedMessage): RelayQueue => relays.get(relayKeyOf(claimed))!

  /** Claims of batches and of large messages take no capacity from single messages. */
  const capacityOf = (relay: RelayQueue | undefined, nowMs: number, kind: Kind): number => {
    if (kind !== 'large')
      return relay ? relay.capacity(nowMs, kind === 'single' ? relay.counts.single : undefined) : policy.limits.new
    if (!relay) return largeLimit
    return relay.capacity(nowMs, 0) > 0 ? Math.max(0, Math.min(relay.limit, largeLimit) - relay.counts.large) : 0
  }

  /** How many large messages this process may begin to send to a relay. */
  const largeRoom = ({ health }: RelayQueue): number => {
    let all = largeTotal.all
    let unproven = largeTotal.unproven
    for (const relay of relays.values()) {
      all -= relay.largeInFlight
      if (relay.health !== 'answering') unproven -= relay.largeInFlight
    }
    return Math.max(0, health === 'answering' ? all : Math.min(all, unproven))
  }

  const forgetIdle = (nowMs: number) => {
    for (const [key, relay] of relays) if (relay.isIdle(nowMs) && nowMs - relay.usedAt > idleMs) relays.delete(key)
  }

  const takeBackFrom = (relay: RelayQueue, isChosen: (claimed: ClaimedMessage) => boolean): ClaimedMessage[] => {
    const back = relay.takeBack(isChosen)
    for (const claimed of back) relay.counts[kindOf(claimed)]--
    return back
  }

  const isPatient = (claimed: ClaimedMessage) => claimed.isPatient

  return {
    /** Notes that a stream may have messages that are due since a time (microseconds since the epoch). */
    markDue({ accountId, batch }: Stream, since: number): void {
      const stream = { accountId, batch }
      streams
        .getOrInsertComputed(streamKey(stream), () => ({ ...stream, since: new UnclaimedSince() }))
        .since.note(since)
    },

    /** Returns the requests of the next claim. The streams of a relay share its capacity equally, and take turns if it is too small. */
    claimRequests(nowMs: number): { requests: ClaimRequest[]; total: number } {
      forgetIdle(nowMs)
      let total = totalLimit
      let unproven = unprovenPool
      for (const { claimed, health } of relays.values()) {
        total -= claimed
        if (health !== 'answering') unproven -= claimed
      }
      const relayKey = ({ accountId }: Stream) => relayKeys.get(accountId) ?? `new ${accountId}`
      const inOrder = [...streams.values()].sort((a, b) => rankOf(a) - rankOf(b))
      const shares = Map.groupBy(inOrder, (stream) => `${relayKey(stream)} ${kindOf(stream)}`)
      const requests = [...shares.values()].flatMap((sharing) => {
        const relay = relays.get(relayKey(sharing[0]!))
        const isProven = relay?.health === 'answering'
        const capacity = capacityOf(relay, nowMs, kindOf(sharing[0]!))
        let left = isProven ? capacity : Math.max(0, Math.min(capacity, unproven))
        if (!isProven) unproven -= left
        const each = Math.ceil(left / sharing.length)
        return sharing.flatMap(({ accountId, batch, since }) => {
          const part = Math.min(each, left)
          left -= part
          return part > 0 ? { accountId, batch, capacity: part, since: since.take()! } : []
        })
      })
      return { requests, total }
    },

    /** Queues the claimed messages, and keeps the streams that may have more. */
    add(
      claims: readonly ClaimedMessage[],
      requests: readonly ClaimRequest[],
      found: ReadonlyMap<string, Found>,
      nowMs: number,
    ): void {
      for (const claimed of claims) this.push(claimed, nowMs)
      for (const request of requests) {
        const key = streamKey(request)
        const stream = streams.get(key)!
        const result = found.get(key)
        stream.since.keep(result && result.found >= request.capacity ? result.last : null)
        streams.delete(key)
        if (stream.since.isKnown) streams.set(key, stream)
      }
    },

    push(claimed: ClaimedMessage, nowMs: number): void {
      const key = relayKeyOf(claimed)
      relayKeys.set(claimed.accountId, key)
      const relay = relays.getOrInsertComputed(key, () => new RelayQueue(policy, 'new', nowMs))
      relay.usedAt = nowMs
      relay.counts[kindOf(claimed)]++
      relay.enqueue(claimed)
    },

    /** Whether any stream with unclaimed messages has free capacity. */
    hasCapacity: (nowMs: number): boolean =>
      [...streams.values()].some(
        (stream) => capacityOf(relays.get(relayKeys.get(stream.accountId) ?? ''), nowMs, kindOf(stream)) > 0,
      ),

    /** Returns the next messages to send, as many as their relays may have in flight. */
    next: (nowMs: number): ClaimedMessage[] =>
      [...relays.values()].flatMap((relay) => relay.startSome(inFlightLimit, largeRoom(relay), nowMs)),

    /** Notes the outcome of a hand-over. If the relay is unavailable, returns the waiting messages, to be released. */
    answered(claimed: ClaimedMessage, outcome: SendOutcome, nowMs: number, random: number): ClaimedMessage[] {
      const relay = queueOf(claimed)
      const isAway = outcome.kind === 'unreached' || (outcome.kind === 'refused' && outcome.code === 421)
      if (!isAway && outcome.kind !== 'unknown') {
        relay.answered(nowMs)
        return []
      }
      relay.setHealth('hanging')
      if (!isAway) return []
      // Messages that were in flight at the same time fail together: this counts as one failure.
      if (nowMs >= relay.quietUntil) relay.failures++
      relay.backOff(timeoutBackoffMs(relay.failures + 1, random), nowMs)
      return takeBackFrom(relay, isPatient)
    },

    /** Frees the place of a message that is recorded, or that this process has no claim on any more. */
    done(claimed: ClaimedMessage): void {
      const relay = queueOf(claimed)
      const kind = kindOf(claimed)
      relay.inFlight--
      relay.counts[kind]--
      if (kind === 'large') relay.largeInFlight--
    },

    /** Removes the chosen messages that wait, and returns them. None of them has been sent. */
    takeBack: (isChosen: (claimed: ClaimedMessage) => boolean): ClaimedMessage[] =>
      [...relays.values()].flatMap((relay) => takeBackFrom(relay, isChosen)),

    /** Removes and returns the messages that wait for stalled relays, so that other processes can try them. */
    stalled: (nowMs: number): ClaimedMessage[] =>
      [...relays.values()].flatMap((relay) => (relay.isStalled(nowMs) ? takeBackFrom(relay, isPatient) : [])),
  }
}
