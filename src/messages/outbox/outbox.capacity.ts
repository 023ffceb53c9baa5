import type { SendOutcome } from '../../net/smtp.ts'
import { UnclaimedSince } from '../../queue/capacity.ts'
import { type ClaimedMessage, type ClaimRequest, type Found, type Stream, streamKey } from './outbox.claim.ts'
import { type Kind, kindOf, largeLimit, policy, RelayQueue, rankOf } from './outbox.relay.ts'

/*
 * Each relay has a queue in this process, and the accounts of a relay share its capacity. Single messages have priority: batches get
 * the capacity that single messages leave, and a single message waits for messages in flight only, never for a batch.
 *
 * Large messages take seconds on a connection, and their attachments are in memory meanwhile. So only a few are sent at a time: the
 * others leave connections and capacity to small messages.
 */

/** Maximum claims of a process at a time. */
const totalLimit = 2048
/** Maximum claims for all unproven relays together: those that do not answer, or have not answered yet. */
const unprovenLimit = 512
/** Maximum large messages in flight of a process, and of them those for unproven relays. */
const largeTotal = { all: 4, unproven: 2 }
/** A relay that was unused for this long is forgotten. */
const idleMs = 60_000

/** A stream that may have unclaimed messages. */
type OpenStream = Stream & { since: UnclaimedSince }

const isUnproven = (relay: RelayQueue | undefined): boolean => relay?.health !== 'answering'

const sumOf = (relays: readonly RelayQueue[], of: (relay: RelayQueue) => number): number =>
  relays.reduce((sum, relay) => sum + of(relay), 0)

/** Returns how many messages of a kind may be claimed for a relay, or for one that this process does not know yet. */
const capacityOf = (relay: RelayQueue | undefined, kind: Kind, nowMs: number): number => {
  if (relay) return relay.capacityFor(kind, nowMs)
  return kind === 'large' ? largeLimit : policy.limits.new
}

/** Returns requests that share the capacity equally. If it is smaller than the number of streams, the first ones get 1 each. */
const shareOut = (streams: readonly OpenStream[], capacity: number): ClaimRequest[] => {
  const equalShare = Math.ceil(capacity / streams.length)
  let left = capacity
  return streams.flatMap(({ accountId, batch, since }) => {
    const share = Math.min(equalShare, left)
    left -= share
    return share > 0 ? { accountId, batch, capacity: share, since: since.take()! } : []
  })
}

/** Returns the key of a message's relay. All accounts without their own relay share the platform's. */
const relayKeyOf = ({ accountId, relay }: ClaimedMessage): string => (relay ? accountId : 'platform')

/** Returns the relay queues of a process. Times are in ms of `performance.now()`. */
export const createRelayQueues = () => {
  const relays = new Map<string, RelayQueue>()
  /** The relay key of each account's latest message. */
  const relayKeys = new Map<string, string>()
  /** Streams that may have unclaimed messages, least recently served first. */
  const streams = new Map<string, OpenStream>()

  const queueOf = (claimed: ClaimedMessage): RelayQueue => relays.get(relayKeyOf(claimed))!
  // The relay of an account is unknown until one of its messages was claimed.
  const relayKeyOfStream = ({ accountId }: Stream): string => relayKeys.get(accountId) ?? `new ${accountId}`
  const relayOfStream = (stream: Stream): RelayQueue | undefined => relays.get(relayKeyOfStream(stream))

  /** Returns how many large messages this process may begin to send to a relay. */
  const largeCapacity = (relay: RelayQueue): number => {
    const all = [...relays.values()]
    const left = largeTotal.all - sumOf(all, ({ largeInFlight }) => largeInFlight)
    if (!isUnproven(relay)) return Math.max(0, left)
    const unprovenLeft = largeTotal.unproven - sumOf(all.filter(isUnproven), ({ largeInFlight }) => largeInFlight)
    return Math.max(0, Math.min(left, unprovenLeft))
  }

  const forgetIdle = (nowMs: number) => {
    for (const [key, relay] of relays) if (relay.isIdle(nowMs) && nowMs - relay.usedAt > idleMs) relays.delete(key)
  }

  // Other messages stay: their callers wait for a result, so each is tried once.
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
      const known = [...relays.values()]
      let unprovenLeft = unprovenLimit - sumOf(known.filter(isUnproven), ({ claimed }) => claimed)
      const inOrder = [...streams.values()].sort((a, b) => rankOf(a) - rankOf(b))
      const groups = Map.groupBy(inOrder, (stream) => `${relayKeyOfStream(stream)} ${kindOf(stream)}`)
      const requests = [...groups.values()].flatMap((group) => {
        const relay = relayOfStream(group[0]!)
        const capacity = capacityOf(relay, kindOf(group[0]!), nowMs)
        if (!isUnproven(relay)) return shareOut(group, capacity)
        const granted = Math.max(0, Math.min(capacity, unprovenLeft))
        unprovenLeft -= granted
        return shareOut(group, granted)
      })
      return { requests, total: totalLimit - sumOf(known, ({ claimed }) => claimed) }
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
        // A stream that was served goes to the end.
        streams.delete(key)
        if (stream.since.isKnown) streams.set(key, stream)
      }
    },

    push(claimed: ClaimedMessage, nowMs: number): void {
      const key = relayKeyOf(claimed)
      relayKeys.set(claimed.accountId, key)
      const relay = relays.getOrInsertComputed(key, () => new RelayQueue(nowMs))
      relay.usedAt = nowMs
      relay.push(claimed)
    },

    /** Whether any stream with unclaimed messages has free capacity. */
    hasCapacity: (nowMs: number): boolean =>
      [...streams.values()].some((stream) => capacityOf(relayOfStream(stream), kindOf(stream), nowMs) > 0),

    /** Returns the next messages to send, as many as their relays may have in flight. */
    next: (nowMs: number): ClaimedMessage[] =>
      [...relays.values()].flatMap((relay) => relay.startSome(largeCapacity(relay), nowMs)),

    /** Notes the outcome of a hand-over. If the relay is unavailable, removes and returns the waiting messages for which no caller waits. */
    answered(claimed: ClaimedMessage, outcome: SendOutcome, nowMs: number, random: number): ClaimedMessage[] {
      const relay = queueOf(claimed)
      return relay.note(outcome, nowMs, random) ? [] : relay.takeBack(isPatient)
    },

    /** Frees the capacity of a message whose result is recorded, or whose claim this process has lost. */
    done: (claimed: ClaimedMessage): void => queueOf(claimed).done(claimed),

    /** Removes and returns the chosen waiting messages, none of which has been sent. */
    takeBack: (isChosen: (claimed: ClaimedMessage) => boolean): ClaimedMessage[] =>
      [...relays.values()].flatMap((relay) => relay.takeBack(isChosen)),

    /** Removes and returns the messages of stalled relays for which no caller waits, so that other processes can try them. */
    takeStalled: (nowMs: number): ClaimedMessage[] =>
      [...relays.values()].flatMap((relay) => (relay.isStalled(nowMs) ? relay.takeBack(isPatient) : [])),
  }
}
