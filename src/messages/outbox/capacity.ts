import { timeoutBackoffMs } from '../../lib/backoff.ts'
import type { SendOutcome } from '../../net/smtp.ts'
import { Endpoint, type Policy, UnclaimedSince } from '../../queue/capacity.ts'
import { type ClaimedMessage, type ClaimRequest, type Found, type Stream, streamKey } from './claim.ts'

/*
 * Each relay has a queue in this process, and the accounts of a relay share its capacity. Single messages have priority: batches get
 * the capacity that single messages leave, and a single message waits for messages in flight only, never for a batch.
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
const idleMs = 60_000

const policy: Policy = { limits: { new: 5, answering: inFlightLimit, hanging: 1 }, stallMs: 3000 }

class RelayQueue extends Endpoint<ClaimedMessage> {
  /** Number of single messages, waiting or in flight. */
  singles = 0
}

/** Returns the key of a message's relay. All accounts without their own relay share the platform's. */
const relayKeyOf = ({ accountId, relay }: ClaimedMessage): string => (relay ? accountId : 'platform')

const isSingle = ({ batch }: Stream): boolean => batch === ''

/** Returns the relay queues of a process. Times are in ms of `performance.now()`. */
export const createRelayQueues = () => {
  const relays = new Map<string, RelayQueue>()
  /** The relay key of each account's latest message. */
  const relayKeys = new Map<string, string>()
  /** Streams that may have unclaimed messages, least recently served first. */
  const streams = new Map<string, Stream & { since: UnclaimedSince }>()

  const queueOf = (claimed: ClaimedMessage): RelayQueue => relays.get(relayKeyOf(claimed))!

  /** Claims of batches take no capacity from single messages. */
  const capacityOf = (relay: RelayQueue | undefined, nowMs: number, forSingle: boolean): number =>
    relay ? relay.capacity(nowMs, forSingle ? relay.singles : undefined) : policy.limits.new

  const forgetIdle = (nowMs: number) => {
    for (const [key, relay] of relays) if (relay.isIdle(nowMs) && nowMs - relay.usedAt > idleMs) relays.delete(key)
  }

  const takeBackFrom = (relay: RelayQueue, isChosen: (claimed: ClaimedMessage) => boolean): ClaimedMessage[] => {
    const back = relay.takeBack(isChosen)
    relay.singles -= back.filter(isSingle).length
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
      const inOrder = [...streams.values()].sort((a, b) => Number(isSingle(b)) - Number(isSingle(a)))
      const shares = Map.groupBy(inOrder, (stream) => `${relayKey(stream)} ${isSingle(stream)}`)
      const requests = [...shares.values()].flatMap((sharing) => {
        const relay = relays.get(relayKey(sharing[0]!))
        const isProven = relay?.health === 'answering'
        const capacity = capacityOf(relay, nowMs, isSingle(sharing[0]!))
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
      if (!isSingle(claimed)) relay.waiting.push(claimed)
      else {
        relay.singles++
        const behind = relay.waiting.findIndex((waiting) => !isSingle(waiting))
        relay.waiting.splice(behind < 0 ? relay.waiting.length : behind, 0, claimed)
      }
    },

    /** Whether any stream with unclaimed messages has free capacity. */
    hasCapacity: (nowMs: number): boolean =>
      [...streams.values()].some(
        (stream) => capacityOf(relays.get(relayKeys.get(stream.accountId) ?? ''), nowMs, isSingle(stream)) > 0,
      ),

    /** Returns the next messages to send, as many as their relays may have in flight. */
    next: (nowMs: number): ClaimedMessage[] =>
      [...relays.values()].flatMap((relay) => relay.start(inFlightLimit, nowMs)),

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
      relay.inFlight--
      if (isSingle(claimed)) relay.singles--
    },

    /** Removes the chosen messages that wait, and returns them. None of them has been sent. */
    takeBack: (isChosen: (claimed: ClaimedMessage) => boolean): ClaimedMessage[] =>
      [...relays.values()].flatMap((relay) => takeBackFrom(relay, isChosen)),

    /** Removes and returns the messages that wait for stalled relays, so that other processes can try them. */
    stalled: (nowMs: number): ClaimedMessage[] =>
      [...relays.values()].flatMap((relay) => (relay.isStalled(nowMs) ? takeBackFrom(relay, isPatient) : [])),
  }
}
