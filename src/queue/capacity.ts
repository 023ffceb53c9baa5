/*
 * How many claims a remote endpoint (of a webhook, or a mail relay) may have at once. An endpoint that answers earns a higher
 * limit; one that has not answered this process yet, or not in time, has a low limit; one that is unavailable gets nothing for a
 * while. So an endpoint that hangs delays only its own items. Times are in ms of `performance.now()` unless stated otherwise.
 */

/**
 * A remote end is `new` if it has not answered this process yet, and `hanging` if it did not answer in time at its last attempt.
 */
export type Health = 'new' | 'answering' | 'hanging'

export interface Policy {
  /** Initial limit of an endpoint's claims, by its health. */
  limits: Readonly<Record<Health, number>>
  /** An endpoint that has not answered for this long gets no more claims. */
  stallMs: number
}

/** Returns the free capacity, or 0 while less than half of the limit is free: one claim then takes many rows, or none. */
export const freeCapacity = (limit: number, claimed: number): number => (claimed * 2 <= limit ? limit - claimed : 0)

const earliest = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b)

/** The due time from which on there may be unclaimed items, in microseconds since the epoch. */
export class UnclaimedSince {
  #known: number | null = null
  #noted: number | null = null

  get isKnown(): boolean {
    return this.#known !== null || this.#noted !== null
  }

  /** Records a notice. It is kept apart from the result of a running claim, which may not have seen those items. */
  note(since: number): void {
    this.#noted = earliest(this.#noted, since)
  }

  /** Returns the time for a claim that begins now, or null if nothing is known to be unclaimed. */
  take(): number | null {
    this.#known = earliest(this.#known, this.#noted)
    this.#noted = null
    return this.#known
  }

  /** Stores the due time of the first item that the claim left, or null if it left none. */
  keep(since: number | null): void {
    this.#known = since
  }
}

/** Counts by account, with their total. */
export class Counts extends Map<string, number> {
  total = 0

  of(accountId: string): number {
    return this.get(accountId) ?? 0
  }

  add(accountId: string, change: number): void {
    const count = this.of(accountId) + change
    this.total += change
    if (count > 0) this.set(accountId, count)
    else this.delete(accountId)
  }
}

/** A remote endpoint as this process sees it, with the items that are claimed for it. */
export class Endpoint<Item> {
  readonly policy: Policy
  health: Health
  limit: number
  /** Claimed and not started. */
  waiting: Item[] = []
  /** Number of items in flight. */
  inFlight = 0
  /** Number of items that were sent and are not recorded. */
  unrecorded = 0
  /** Consecutive failures to answer. */
  failures = 0
  quietUntil = 0
  usedAt: number
  /** When it last answered, or when the first item was sent after it had none in flight. */
  busyAt: number

  constructor(policy: Policy, health: Health, nowMs: number) {
    this.policy = policy
    this.health = health
    this.limit = policy.limits[health]
    this.usedAt = nowMs
    this.busyAt = nowMs
  }

  get claimed(): number {
    return this.waiting.length + this.inFlight + this.unrecorded
  }

  isIdle(nowMs: number): boolean {
    return this.claimed === 0 && nowMs >= this.quietUntil
  }

  isStalled(nowMs: number): boolean {
    return this.inFlight > 0 && nowMs - this.busyAt > this.policy.stallMs
  }

  capacity(nowMs: number, claimed = this.claimed): number {
    return nowMs < this.quietUntil || this.isStalled(nowMs) ? 0 : freeCapacity(this.limit, claimed)
  }

  /** Sets the health, and with a changed health the initial limit of the new one. */
  setHealth(health: Health): void {
    if (health === this.health) return
    this.health = health
    this.limit = this.policy.limits[health]
  }

  /** Removes waiting items so that at most `most` items are in flight, and returns them. */
  start(most: number, nowMs: number): Item[] {
    const begun = this.waiting.splice(0, Math.max(0, most - this.inFlight))
    if (begun.length > 0 && this.inFlight === 0) this.busyAt = nowMs
    this.inFlight += begun.length
    return begun
  }

  answered(nowMs: number): void {
    this.busyAt = nowMs
    this.failures = 0
    this.setHealth('answering')
  }

  backOff(ms: number, nowMs: number): void {
    this.quietUntil = Math.max(this.quietUntil, nowMs + ms)
  }

  /** Removes and returns the chosen waiting items, none of which has started. */
  takeBack(isChosen: (item: Item) => boolean = () => true): Item[] {
    const back = this.waiting.filter(isChosen)
    if (back.length > 0) this.waiting = this.waiting.filter((item) => !isChosen(item))
    return back
  }
}
