import { once } from 'node:events'
import type { CounterOutcome } from '../lib/counters.ts'
import type { App, Report } from '../store/work.ts'
import { createBatches } from './batches.ts'
import { type Claim, findClaims, splitByOutcome } from './claims.ts'
import type { QueueName } from './holds.ts'
import { openLease } from './lease.ts'
import type { Looks } from './looks.ts'
import { createBell, repeat, within } from './loop.ts'

/** Notices and heartbeats wake the loop; the poll finds what they missed. */
const pollMs = 2000
/** Interval of the search for orphaned claims. */
const reconcileMs = 30_000
/** That search, which scans the queue, takes at most 1/50 of the time. */
const restFactor = 50
/** A claim of this worker that the process does not know may be in an answer on its way: it is freed if it still exists this much later. */
const confirmMs = 2000
/** The server may complete a statement after its client died or lost the connection: for this long the engine reconciles every `confirmMs`. */
const unsureMs = 10_000
/** Closing takes at most this long, even if the database is unavailable; then the worker leaves within `leaveMs`. */
const closeMs = 6000
const leaveMs = 1000
const releaseSize = 500
const freeSize = 1000

/** What a queue supplies to the engine. `C` is a claimed item with everything that its transport needs. */
export interface Adapter<C extends Claim> {
  /** The job under which its workers register. */
  job: CounterOutcome<'freedClaims'>
  /** The queue that operators pause (holds.ts). */
  queue: QueueName
  table: string
  channels: readonly string[]
  /** A boolean SQL expression: has an item become due by the passage of time? */
  isDue?: string
  /** What its heartbeats look for, for the schedulers of this process. */
  looks?: Looks
  notice(channel: string, payload: string): void
  /** Notices may have been missed: the adapter returns waiting items to the queue and searches all of it at the next claim. */
  missed(): void
  /** Claims due items for `worker` within the capacity, and starts them. */
  claim(worker: number): Promise<void>
  /** The queue is paused: the adapter returns the claims that have not started to it. */
  hold(): void
  /** The database accepts no results at the moment: further claims would only repeat work that is done already. */
  readonly isStuck: boolean
  /** Returns claims that have not started to the queue. Resolves with the ids of the changed rows. */
  release(claims: readonly C[]): Promise<ReadonlySet<string>>
  /** Ends or frees claims that no worker will record. Skips rows that another transaction has locked. */
  free(claims: readonly Claim[]): Promise<unknown>
  /** Returns how many ms to wait for the next claim. */
  waitMs?(): number
  /** Returns waiting items to the queue, finishes those that have started, and records them. Bounded in time. */
  finish(): Promise<void>
}

export interface Engine<C extends Claim> {
  /** The worker's id; null while this process must not start anything, because it may have lost its claims. */
  readonly worker: number | null
  /** An operator has paused the queue: nothing may start. */
  readonly isHeld: boolean
  /** Resolves with the worker's id as soon as there is one, or after `limitMs` with null. */
  ready(limitMs: number): Promise<number | null>
  /** Wakes the loop: there may be something to claim. */
  ring(): void
  /** Registers claims before any of them starts: reconciliation frees claims that are not tracked. */
  track(claims: readonly C[]): void
  /** Forgets a claim that is recorded, or that belongs to another worker. */
  untrack(claim: C): void
  readonly isEmpty: boolean
  /** Returns claims that have not started to the queue. */
  giveBack(claims: readonly C[]): void
  /** Reconciles soon, after a claiming statement that failed: the server may have executed it nevertheless. */
  reconcileSoon(): void
}

/** An open queue of this process. */
export interface Queue<C extends Claim> extends Engine<C> {
  /** Finishes started items, returns the rest to the queue, and ends the worker. */
  close(): Promise<void>
}

type Ports = Pick<App, 'database' | 'sql' | 'counters' | 'beat'>

/**
 * Opens a queue for this process and runs it until `close`: it claims at each notice, at each ring, and at the interval of its
 * adapter. Any number of processes may do so on one database. No failure ends it (`repeat` in loop.ts).
 */
export const openQueue = <C extends Claim>(
  { database, sql, counters, beat }: Ports,
  report: Report,
  openAdapter: (engine: Engine<C>) => Adapter<C>,
): Queue<C> => {
  const stop = new AbortController()
  const bell = createBell()
  const { ring } = bell
  const connected = Promise.withResolvers<void>()
  let reconcileAt = 0
  let unsureUntil = 0
  let reconciling: Promise<number> | null = null
  /** When each untracked claim of this worker was first found, by id and claim. */
  let untrackedSince = new Map<string, number>()
  /** The number of the claim of each item that this process has neither recorded nor released. */
  const tracked = new Map<string, number>()

  const engine: Engine<C> = {
    get worker() {
      return lease.id
    },
    get isHeld() {
      return lease.isHeld
    },
    async ready(limitMs) {
      if (lease.id !== null) return lease.id
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, limitMs)
      await Promise.race([connected.promise, promise])
      clearTimeout(timer)
      return lease.id
    },
    ring,
    track(claims) {
      for (const { id, claim } of claims) tracked.set(id, claim)
    },
    untrack({ id, claim }) {
      if (tracked.get(id) === claim) tracked.delete(id)
    },
    get isEmpty() {
      return tracked.size === 0
    },
    giveBack: (claims) => releases.push(claims),
    reconcileSoon() {
      unsureUntil = performance.now() + unsureMs
      reconcileAt = 0
      ring()
    },
  }
  const adapter = openAdapter(engine)

  const releases = createBatches<C>(releaseSize, {
    async run(batch) {
      const changed = await adapter.release(batch)
      const { locked } = await splitByOutcome(sql, adapter.table, batch, (claim) => claim, changed)
      const kept = new Set(locked)
      for (const claim of batch) if (!kept.has(claim)) engine.untrack(claim)
      ring()
      return locked
    },
    failed(claim, error) {
      report(error, { id: claim.id })
      // Reconciliation frees it.
      engine.untrack(claim)
    },
  })

  /** Returns the untracked claims that were untracked already `confirmMs` ago. */
  const confirmed = (untracked: readonly Claim[]): Claim[] => {
    const nowMs = performance.now()
    const key = ({ id, claim }: Claim) => `${id} ${claim}`
    untrackedSince = new Map(untracked.map((claim) => [key(claim), untrackedSince.get(key(claim)) ?? nowMs]))
    return untracked.filter((claim) => nowMs - untrackedSince.get(key(claim))! >= confirmMs)
  }

  const repair = async (dead: readonly number[]): Promise<number> => {
    const startedAt = performance.now()
    const own = lease.id
    const found = await findClaims(database, adapter.table, dead, own)
    const orphans = found.filter(({ worker }) => worker !== own)
    const freeing = [...orphans, ...confirmed(found.filter(({ worker, id }) => worker === own && !tracked.has(id)))]
    for (let i = 0; i < freeing.length; i += freeSize) await adapter.free(freeing.slice(i, i + freeSize))
    if (freeing.length > 0) {
      counters.count('freedClaims', adapter.job, freeing.length)
      ring()
    }
    const rareMs = Math.max(reconcileMs, restFactor * (performance.now() - startedAt))
    const isSoon = own === null || untrackedSince.size > 0 || startedAt < unsureUntil
    reconcileAt = performance.now() + (isSoon ? confirmMs : rareMs)
    return orphans.length
  }

  /** Frees claims that no worker holds. Resolves with the number of claims of other workers that it found. */
  const reconcile = (dead: readonly number[] = []): Promise<number> => {
    reconciling ??= repair(dead).finally(() => {
      reconciling = null
    })
    return reconciling
  }

  const lease = openLease(database, adapter, adapter.channels, {
    isDue: adapter.isDue,
    due: ring,
    looks: adapter.looks,
    held(isHeld) {
      if (isHeld) return adapter.hold()
      // The claims were returned to the queue, and notices of the time in between were not followed.
      adapter.missed()
      ring()
    },
    notice(channel, payload) {
      adapter.notice(channel, payload)
      ring()
    },
    connected() {
      connected.resolve()
      adapter.missed()
      engine.reconcileSoon()
    },
    beat,
    async died(ids) {
      // A round that is already running does not know of them.
      while (reconciling) await reconciling
      // It may have died between a commit and the notice of it.
      adapter.missed()
      const isEmpty = (await reconcile(ids)) === 0
      // The server may complete a claim of the dead worker after its row is deleted.
      engine.reconcileSoon()
      return isEmpty
    },
  })

  /** Reconciles if it is time to, and claims. Resolves with the ms until the next turn. */
  const turn = async (): Promise<number> => {
    if (performance.now() >= reconcileAt) await reconcile()
    const { id } = lease
    if (id === null || lease.isHeld || adapter.isStuck) return pollMs
    await adapter.claim(id).catch((error) => {
      engine.reconcileSoon()
      throw error
    })
    // It was paused while the claim was under way.
    if (lease.isHeld) adapter.hold()
    return Math.max(0, Math.min(adapter.waitMs?.() ?? pollMs, reconcileAt - performance.now()))
  }

  const running = repeat(bell, stop.signal, report, turn)
  const close = async () => {
    const endsAt = performance.now() + closeMs
    const leftMs = () => Math.max(0, endsAt - performance.now())
    stop.abort()
    await within(leftMs(), running)
    await within(leftMs(), adapter.finish())
    await releases.close(leftMs())
    const isEmpty = async (id: number) => {
      const left = await findClaims(database, adapter.table, [], id)
      return left.every(({ worker }) => worker !== id)
    }
    await within(leaveMs, lease.close(isEmpty))
  }
  return Object.assign(engine, { close })
}

/** Runs a queue until `signal` is aborted, then closes it. */
export const runQueue = async <C extends Claim>(
  app: Ports,
  signal: AbortSignal,
  report: Report,
  openAdapter: (engine: Engine<C>) => Adapter<C>,
): Promise<void> => {
  const queue = openQueue(app, report, openAdapter)
  if (!signal.aborted) await once(signal, 'abort')
  await queue.close()
}
