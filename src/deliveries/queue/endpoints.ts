import type { PostOutcome } from '../../net/http.ts'
import { Counts, Endpoint, type Health, type Policy, UnclaimedSince } from '../../queue/capacity.ts'
import type { ClaimedDelivery } from './claim.statement.ts'
import type { ClaimCapacity, TargetRequest } from './deliveries.claim.ts'
import { isTimeout, quietMsAfter } from './deliveries.record.ts'
import { countedBytes, createPermits, newLimit, totalLimit } from './permits.ts'
import { goneStatus } from './post.ts'

/*
 * Permits are for endpoints that answer. Endpoints that have not answered yet, and those that time out, share a small part of the
 * process's permits, whatever their number and the number of their accounts. A permit is taken by the claim and returned when the
 * result is recorded.
 */

/** Limits of an endpoint that answers: the initial one, the lowest and the highest. */
const firstLimit = 16
const leastLimit = 4
const mostLimit = 1024
/** Concurrent posts to an endpoint. Claims beyond it wait here for a moment, so that fast endpoints never wait for SQL. */
const postingLimit = 64
/** An endpoint that takes longer gets no claims ahead: they would wait here, although other processes could take them. */
const fastMs = 100
const slowMs = 1000
/** The limit that an endpoint has earned is kept for this long after its last delivery. */
const idleMs = 60_000
/** The health of this many forgotten endpoints is remembered. */
const maxRemembered = 10_000
/** After 410 an endpoint gets nothing for this long: by then its target has ended. */
const goneMs = 2000
/** A quiet endpoint gets nothing from this process for this long, and until the result is recorded: then its target's row has the full quiet time. */
const quietHereMs = 2000
/** After an unexpected error (a secret that can't be opened) an endpoint gets nothing for this long. */
const faultMs = 60_000

const policy: Policy = { limits: { new: newLimit, answering: firstLimit, hanging: 1 }, stallMs: 1000 }

/** A target as this process sees it. */
class Target extends Endpoint<ClaimedDelivery> {
  readonly id: string
  readonly accountId: string
  since = new UnclaimedSince()
  /** The counted bytes of its claims. */
  bytes = 0
  failedAt = 0
  /** A result that makes the endpoint quiet is not recorded yet, so its row still offers its deliveries. */
  isSettling = false

  constructor(id: string, accountId: string, health: Health, nowMs: number) {
    super(policy, health, nowMs)
    this.id = id
    this.accountId = accountId
  }

  override capacity(nowMs: number): number {
    return this.isSettling ? 0 : super.capacity(nowMs)
  }
}

/** Times are in ms of `performance.now()` unless stated otherwise. */
export const createEndpoints = () => {
  const targets = new Map<string, Target>()
  const remembered = new Map<string, Health>()
  const permits = createPermits()
  /** A limit of the process cut the last claim: there may be more for targets with capacity. */
  let isCut = false

  /** Sets the health, and moves the target's permits to the pool of the new health. */
  const setHealth = (target: Target, health: Health) => {
    if (health === target.health) return
    permits.count(target, -target.claimed, -target.bytes)
    target.setHealth(health)
    permits.count(target, target.claimed, target.bytes)
  }

  /** Counts a claim (1) or its end (-1). */
  const count = (target: Target, { bytes }: ClaimedDelivery, change: 1 | -1) => {
    const size = change * countedBytes(bytes)
    target.bytes += size
    permits.count(target, change, size)
  }

  /** Removes and returns the waiting claims of a target, none of which was posted. */
  const takeBack = (target: Target): ClaimedDelivery[] => {
    const back = target.takeBack()
    for (const claimed of back) count(target, claimed, -1)
    if (back.length > 0) target.since.note(back[0]!.dueAt)
    return back
  }

  const backOff = (target: Target, ms: number, nowMs: number): ClaimedDelivery[] => {
    target.backOff(Math.min(ms, quietHereMs), nowMs)
    target.isSettling = true
    const back = takeBack(target)
    target.since = new UnclaimedSince()
    return back
  }

  const find = (id: string, accountId: string, nowMs: number): Target =>
    targets.getOrInsertComputed(id, () => new Target(id, accountId, remembered.get(id) ?? 'new', nowMs))

  const remember = ({ id, health }: Target) => {
    remembered.delete(id)
    if (health !== 'new') remembered.set(id, health)
    if (remembered.size > maxRemembered) remembered.delete(remembered.keys().next().value!)
  }

  const forgetIdle = (nowMs: number) => {
    for (const target of targets.values()) {
      const hasEarned = target.limit > firstLimit && nowMs - target.usedAt < idleMs
      if (hasEarned || target.since.isKnown || !target.isIdle(nowMs)) continue
      remember(target)
      targets.delete(target.id)
    }
  }

  /** Adds a claim to those that wait for its target. */
  const addClaim = (claimed: ClaimedDelivery, nowMs: number) => {
    const { targetId, accountId, timeouts } = claimed
    const target = find(targetId, accountId, nowMs)
    if (target.health === 'new' && timeouts > 0) setHealth(target, 'hanging')
    if (target.health === 'hanging') target.failures = Math.max(target.failures, timeouts)
    target.usedAt = nowMs
    target.waiting.push(claimed)
    count(target, claimed, 1)
  }

  /** Notes whether a limit of the process cut a claim, after its deliveries were added. Returns whether one of an account did. */
  const cutBy = (claims: readonly ClaimedDelivery[], capacity: ClaimCapacity): ((accountId: string) => boolean) => {
    const ofAccounts = new Counts()
    for (const { accountId } of claims) ofAccounts.add(accountId, 1)
    const bytes = permits.bytes()
    isCut = claims.length >= capacity.total || bytes.total <= 0
    return (id) =>
      ofAccounts.of(id) >= (capacity.accounts[id] ?? capacity.accountDefault) || (bytes.accounts[id] ?? 1) <= 0
  }

  const adaptToAnswer = (target: Target, { ok, durationMs }: PostOutcome, nowMs: number) => {
    setHealth(target, 'answering')
    target.answered(nowMs)
    if (ok) target.limit = Math.min(durationMs <= fastMs ? mostLimit : postingLimit, target.limit + 1)
    else if (durationMs >= slowMs) target.limit = Math.max(leastLimit, Math.floor(target.limit / 2))
  }

  const adaptToTimeout = (target: Target, { durationMs }: PostOutcome, nowMs: number) => {
    // A post that began before the last counted time-out gives no new information.
    if (nowMs - durationMs < target.failedAt) return
    target.failures++
    target.failedAt = nowMs
    setHealth(target, 'hanging')
  }

  return {
    capacity(nowMs: number): ClaimCapacity {
      forgetIdle(nowMs)
      const left = { new: permits.left('new'), hanging: permits.left('hanging') }
      const requests = [...targets.values()].map((target): TargetRequest => {
        const { id, accountId, health } = target
        const own = target.capacity(nowMs)
        return {
          id,
          since: target.since.take(),
          capacity: health === 'answering' ? own : left[health].take(accountId, own),
        }
      })
      return {
        requests,
        total: permits.total(),
        ...permits.ofAccounts(),
        bytes: permits.bytes(),
        unknown: { capacity: newLimit, ...left.new.inUnits(newLimit) },
        hanging: left.hanging.inUnits(1),
      }
    },

    /** Adds the claims that a claim for `capacity` returned, and remembers which targets may have more deliveries. */
    add(claims: readonly ClaimedDelivery[], capacity: ClaimCapacity, nowMs: number): void {
      for (const claimed of claims) addClaim(claimed, nowMs)
      const isAccountCut = cutBy(claims, capacity)
      const byTarget = Map.groupBy(claims, ({ targetId }) => targetId)
      const asked = new Map(capacity.requests.map((ask) => [ask.id, ask]))
      for (const id of new Set([...asked.keys(), ...byTarget.keys()])) {
        const target = targets.get(id)
        const { capacity: wanted, since } = asked.get(id) ?? { capacity: capacity.unknown.capacity, since: null }
        if (!target || wanted === 0) continue
        const rows = byTarget.get(id) ?? []
        const cut = isCut || isAccountCut(target.accountId) ? (since ?? rows[0]?.dueAt ?? null) : null
        target.since.keep(rows.length >= wanted ? rows.at(-1)!.dueAt : cut)
      }
    },

    /** Whether nothing is claimed, nothing is known to be unclaimed, and no endpoint is quiet. */
    isIdle: (nowMs: number): boolean =>
      targets.values().every((target) => target.isIdle(nowMs) && !target.since.isKnown),

    /** Records a notice: these targets of an account may have unclaimed deliveries since a time (microseconds since the epoch). */
    noteUnclaimed(accountId: string, ids: readonly string[], since: number, nowMs: number): void {
      for (const id of ids) find(id, accountId, nowMs).since.note(since)
    },

    /** Returns the next deliveries to post to the endpoint, within its in-flight limit. */
    next(id: string, nowMs: number): ClaimedDelivery[] {
      const target = targets.get(id)
      return !target || target.isSettling || nowMs < target.quietUntil
        ? []
        : target.start(Math.min(postingLimit, target.limit), nowMs)
    },

    /**
     * A post has ended; its permit is kept until `recorded`. Returns how long the endpoint is quiet in ms, its
     * consecutive time-outs, and the claims to release because of it.
     */
    answered({ targetId }: ClaimedDelivery, outcome: PostOutcome, nowMs: number, random: number) {
      const target = targets.get(targetId)!
      target.inFlight--
      target.unrecorded++
      if (outcome.stopped) return { timeouts: target.failures, quietMs: 0, back: [] }
      if (isTimeout(outcome)) adaptToTimeout(target, outcome, nowMs)
      else adaptToAnswer(target, outcome, nowMs)
      const timeouts = target.failures
      const quietMs = quietMsAfter(outcome, timeouts, random)
      if (outcome.status === goneStatus) return { timeouts, quietMs: 0, back: backOff(target, goneMs, nowMs) }
      if (quietMs > 0) return { timeouts, quietMs, back: backOff(target, quietMs, nowMs) }
      return { timeouts, quietMs, back: target.health === 'hanging' ? takeBack(target) : [] }
    },

    /** An unexpected error prevented the post: the endpoint gets nothing for a while. Returns the claims to release because of it. */
    postFailed(claimed: ClaimedDelivery, nowMs: number): ClaimedDelivery[] {
      const target = targets.get(claimed.targetId)!
      target.inFlight--
      count(target, claimed, -1)
      target.backOff(faultMs, nowMs)
      return takeBack(target)
    },

    /** The result is recorded, or the claim was released. Returns whether to claim again: there is capacity, and maybe something due. */
    recorded(claimed: ClaimedDelivery, nowMs: number): boolean {
      const target = targets.get(claimed.targetId)!
      target.unrecorded--
      if (target.unrecorded === 0) target.isSettling = false
      count(target, claimed, -1)
      if (target.health !== 'answering') return true
      if (isCut && permits.total() * 4 >= totalLimit) return true
      return target.since.isKnown && target.capacity(nowMs) > 0
    },

    /** Removes and returns the waiting claims of stalled endpoints, of these targets, or of all. */
    back(which: 'stalled' | 'all' | readonly string[], nowMs: number): ClaimedDelivery[] {
      const all = [...targets.values()]
      if (which === 'all') return all.flatMap(takeBack)
      if (which === 'stalled') return all.filter((target) => target.isStalled(nowMs)).flatMap(takeBack)
      return which.flatMap((id) => (targets.has(id) ? takeBack(targets.get(id)!) : []))
    },
  }
}
