import { once } from 'node:events'
import type { Outcome } from '../lib/tallies.ts'
import type { App, Report } from '../store/work.ts'
import { createBatches } from './batches.ts'
import { type Claim, findClaims, splitByOutcome } from './claims.ts'
import { openLease } from './lease.ts'
import { createBell, repeat, within } from './loop.ts'

/** Notices and heartbeats wake the loop; this is for what they missed. */
const pollMs = 2000
/** How often the database is asked for claims that nobody holds. */
const reconcileMs = 30_000
/** Reading a long queue for that takes at most one part in this many of the time. */
const restFactor = 50
/** A claim of ours that we do not hold may be an answer on its way: it is freed when it is still there this much later. */
const confirmMs = 2000
/** The server may go on with a statement whose connection is lost: for this long afterwards it is asked every `confirmMs`. */
const unsureMs = 10_000
/** The whole end takes at most this long, also while the database is away, and then the worker leaves. */
const closeMs = 6000
const leaveMs = 1000
const releaseSize = 500
const freeSize = 1000

/** What a queue brings to the engine. `C` is a claimed item with all that its transport needs. */
export interface Adapter<C extends Claim> {
  /** The job under which its workers register. */
  job: Outcome<'freedClaims'>
  table: string
  channels: readonly string[]
  /** A boolean SQL expression: has anything come due by time? */
  isDue?: string
  notice(channel: string, payload: string): void
  /** Notices may have been missed: returns waiting items to the queue, and looks everywhere at its next claim. */
  missed(): void
  /** Claims what is due and has room for `worker`, and starts it. */
  claim(worker: number): Promise<void>
  /** Results wait for a database that takes none: claiming more would only repeat what is done already. */
  readonly isStuck: boolean
  /** Whether it holds the item: claimed, and neither recorded nor released. */
  holds(id: string): boolean
  /** Returns claims to the queue of which nothing has started. Resolves with the ids of those that changed. */
  release(claims: readonly C[]): Promise<ReadonlySet<string>>
  /** The adapter no longer holds these: they are released, or belong to another worker. */
  released(claims: readonly C[]): void
  /** Ends or frees claims that nobody will record. Leaves out rows that another transaction has locked. */
  free(claims: readonly Claim[]): Promise<void>
  /** Returns how many ms to wait for the next claim. */
  waitMs?(): number
  /** Returns waiting items to the queue, finishes those that have started, and records them. Bounded in time. */
  finish(): Promise<void>
}

export interface Engine<C extends Claim> {
  /** null while this process must not start anything: it may have lost its claims. */
  readonly worker: number | null
  /** Resolves with the worker as soon as there is one, or after `limitMs` with null. */
  ready(limitMs: number): Promise<number | null>
  /** There may be something to claim. */
  ring(): void
  /** Returns claims to the queue of which nothing has started. */
  giveBack(claims: readonly C[]): void
  /** A statement that claims has failed: it may have been executed all the same. */
  unsure(): void
}

/** What a process has of a queue beside its adapter. */
export interface Queue<C extends Claim> extends Engine<C> {
  /** Finishes what has started, returns the rest to the queue, and ends the worker. */
  close(): Promise<void>
}

type Ports = Pick<App, 'database' | 'sql' | 'tallies' | 'beat'>

/**
 * Opens a queue for this process and runs it until `close`: it claims at each notice, at each ring, and as often as its adapter
 * says. Any number of processes may do so on one database. No failure ends it (`repeat` in loop.ts).
 */
export const openQueue = <C extends Claim>(
  { database, sql, tallies, beat }: Ports,
  report: Report,
  openAdapter: (engine: Engine<C>) => Adapter<C>,
): Queue<C> => {
  const stop = new AbortController()
  const bell = createBell()
  const { ring } = bell
  const dead = new Set<number>()
  const connected = Promise.withResolvers<void>()
  let reconcileAt = 0
  let unsureUntil = 0
  let reconciling: Promise<number> | null = null
  /** Since when a claim of ours has been seen that we do not hold, by id and claim. */
  let unheldSince = new Map<string, number>()

  const engine: Engine<C> = {
    get worker() {
      return lease.id
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
    giveBack: (claims) => releases.push(claims),
    unsure() {
      unsureUntil = performance.now() + unsureMs
      reconcileAt = 0
      ring()
    },
  }
  const adapter = openAdapter(engine)

  const releases = createBatches<C>(
    { size: releaseSize, gatherMs: 0 },
    {
      async run(batch) {
        const changed = await adapter.release(batch)
        const { locked } = await splitByOutcome(sql, adapter.table, batch, (claim) => claim, changed)
        const kept = new Set(locked)
        adapter.released(batch.filter((claim) => !kept.has(claim)))
        ring()
        return locked
      },
      failed(claim, error) {
        report(error, { id: claim.id })
        // Reconciliation frees it.
        adapter.released([claim])
      },
    },
  )

  /** Those of the claims that this process does not hold, and did not hold `confirmMs` ago. */
  const confirmed = (unheld: readonly Claim[]): Claim[] => {
    const nowMs = performance.now()
    const key = ({ id, claim }: Claim) => `${id} ${claim}`
    unheldSince = new Map(unheld.map((claim) => [key(claim), unheldSince.get(key(claim)) ?? nowMs]))
    return unheld.filter((claim) => nowMs - unheldSince.get(key(claim))! >= confirmMs)
  }

  const repair = async (): Promise<number> => {
    const startedAt = performance.now()
    const own = lease.id
    const found = await findClaims(database, adapter.table, [...dead], own)
    const orphans = found.filter(({ worker }) => worker !== own)
    const freeing = [...orphans, ...confirmed(found.filter(({ worker, id }) => worker === own && !adapter.holds(id)))]
    for (let i = 0; i < freeing.length; i += freeSize) await adapter.free(freeing.slice(i, i + freeSize))
    if (freeing.length > 0) {
      tallies.count('freedClaims', adapter.job, freeing.length)
      const unexpected = orphans.filter(({ worker }) => !dead.has(worker)).length
      if (unexpected > 0) report(new Error('Claims of workers without a row were freed'), { claims: unexpected })
      ring()
    }
    const rareMs = Math.max(reconcileMs, restFactor * (performance.now() - startedAt))
    const isSoon = own === null || unheldSince.size > 0 || startedAt < unsureUntil
    reconcileAt = performance.now() + (isSoon ? confirmMs : rareMs)
    return orphans.length
  }

  /** Frees claims that no worker holds. Resolves with the number of claims of other workers that it found. */
  const reconcile = (): Promise<number> => {
    reconciling ??= repair().finally(() => {
      reconciling = null
    })
    return reconciling
  }

  const lease = openLease(
    database,
    adapter.job,
    adapter.channels,
    {
      notice(channel, payload) {
        adapter.notice(channel, payload)
        ring()
      },
      connected() {
        connected.resolve()
        adapter.missed()
        engine.unsure()
      },
      beat,
      async died(ids) {
        for (const id of ids) dead.add(id)
        // One that is under way may not have known of them.
        await reconciling
        if ((await reconcile()) > 0) return false
        for (const id of ids) dead.delete(id)
        return true
      },
    },
    adapter.isDue === undefined ? undefined : { isDue: adapter.isDue, due: ring },
  )

  /** Repairs what has to be repaired and claims. Resolves with the ms until the next turn. */
  const turn = async (): Promise<number> => {
    if (performance.now() >= reconcileAt) await reconcile()
    const { id } = lease
    if (id === null || adapter.isStuck) return pollMs
    await adapter.claim(id).catch((error) => {
      engine.unsure()
      throw error
    })
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

/** Runs a queue until `signal` is aborted, and then closes it. */
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
