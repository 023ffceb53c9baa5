import { once } from 'node:events'
import type { CounterOutcome } from '../lib/counters.ts'
import type { App, Report } from '../store/work.ts'
import { createBatches } from './batches.ts'
import { type Claim, createReconciliation, findClaims, splitByOutcome } from './claims.ts'
import type { QueueName } from './holds.ts'
import { openLease } from './lease.ts'
import { type Looks, reportLooks } from './looks.ts'
import { createBell, repeat, within } from './loop.ts'

/** Notices and heartbeats wake the loop; the poll finds what they missed. */
const pollMs = 2000
/** Closing takes at most this long, even if the database is unavailable; then the worker leaves within `leaveMs`. */
const closeMs = 6000
const leaveMs = 1000
const releaseSize = 500

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
  /** Returns waiting items to the queue, finishes those that have started, and records them. It takes a bounded time. */
  finish(): Promise<void>
}

export interface Engine<C extends Claim> {
  /** The worker's id. It is null while this process must not start anything, because it may have lost its claims. */
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
interface Queue<C extends Claim> extends Engine<C> {
  /** Finishes started items, returns the rest to the queue, and ends the worker. */
  close(): Promise<void>
}

type Ports = Pick<App, 'database' | 'sql' | 'counters' | 'beat' | 'looks'>

/**
 * Opens a queue for this process and runs it until `close`: it claims at each notice, at each ring, and at the interval of its
 * adapter. Any number of processes may do so on one database. No failure ends it (`repeat` in loop.ts).
 */
export const openQueue = <C extends Claim>(
  { database, sql, counters, beat, looks }: Ports,
  report: Report,
  openAdapter: (engine: Engine<C>) => Adapter<C>,
): Queue<C> => {
  const stop = new AbortController()
  const bell = createBell()
  const { ring } = bell
  const connected = Promise.withResolvers<void>()
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
      reconciliation.soon()
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

  const reconciliation = createReconciliation({
    database,
    table: adapter.table,
    own: () => lease.id,
    isTracked: (id) => tracked.has(id),
    free: (claims) => adapter.free(claims),
    freed(count) {
      counters.count('freedClaims', adapter.job, count)
      ring()
    },
  })

  const lease = openLease(database, adapter, adapter.channels, {
    isDue: adapter.isDue,
    due: ring,
    looks: adapter.looks,
    found: (found) => reportLooks({ database, looks }, found),
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
      // It may have died between a commit and the notice of it.
      adapter.missed()
      const isEmpty = (await reconciliation.runFor(ids)) === 0
      // The server may complete a claim of the dead worker after its row is deleted.
      engine.reconcileSoon()
      return isEmpty
    },
  })

  /** Reconciles if it is time to, and claims. Resolves with the ms until the next turn. */
  const turn = async (): Promise<number> => {
    if (reconciliation.waitMs() === 0) await reconciliation.run()
    const { id } = lease
    if (id === null || lease.isHeld || adapter.isStuck) return pollMs
    await adapter.claim(id).catch((error) => {
      engine.reconcileSoon()
      throw error
    })
    // It was paused while the claim was under way.
    if (lease.isHeld) adapter.hold()
    return Math.max(0, Math.min(adapter.waitMs?.() ?? pollMs, reconciliation.waitMs()))
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
