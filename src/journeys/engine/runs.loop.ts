import { followLooks } from '../../queue/looks.ts'
import { runSchedule } from '../../queue/loop.ts'
import { defineJob } from '../../store/background.ts'
import { typed } from '../../store/column-types.ts'
import { isUnavailable } from '../../store/database.ts'
import { statement } from '../../store/statement.ts'
import type { App, Report } from '../../store/work.ts'
import type { Definition } from '../definition/definition.schema.ts'
import { journeysChannel } from '../journeys.channel.ts'
import { createInFlight } from './in-flight.ts'
import { type DueRun, findDue, isAnythingDue } from './runs.due.ts'
import { recordError, StaleRun } from './runs.record.ts'
import type { Ports } from './steps.effects.ts'
import { createTaskPool } from './task-pool.ts'
import type { Batch, DefinitionOf } from './unit.ts'

/** Maximum runs in a unit of work. */
const batchSize = 256
/** Concurrent units of work, in total and of one account: fewer than the connections of the thread's pool. */
const unitLimits = { limit: 3, each: 2 }

/*
 * How long this process skips a run: another unit of work has locked it; a row that it needs is locked, or the database is
 * unavailable; its error could not be recorded.
 */
const lockedMs = 200
const unavailableMs = 2000
const unrecordedMs = 10_000

const maxCached = 1000
/** An erasure changes definitions: see journeys.erase.ts. */
const keptMs = 10_000

/**
 * The loop asks the database itself at least this often, also while heartbeats find nothing: `svc status` calls a job stalled whose
 * connections have made no statement for 15 s.
 */
const ownMs = 10_000
/** Notifications wake the loop at once; the poll finds runs that become due by time. */
const pollMs = 2000

const readDefinition = statement(
  'read-definition',
  {
    row: { definition: typed<Definition>('jsonb') },
    parameters: { accountId: 'text', journeyId: 'text', version: 'int4' },
  },
  'select definition from journey_versions where account_id = :accountId and journey_id = :journeyId and version = :version',
)

/** It is exported for the tests. `now` is a monotonic clock. */
export const createDefinitionCache = (now = () => performance.now()): DefinitionOf => {
  const cached = new Map<string, { definition: Definition; until: number }>()
  return async ({ sql, accountId }, { journeyId, version }) => {
    const key = `${journeyId} ${version}`
    const known = cached.get(key)
    if (known && known.until > now()) return known.definition
    const [row] = await sql(readDefinition, { accountId, journeyId, version })
    if (!row) throw new Error(`Journey ${journeyId} has no version ${version}`)
    if (cached.size >= maxCached) cached.clear()
    cached.set(key, { definition: row.definition, until: now() + keptMs })
    return row.definition
  }
}

const inParts = (batch: Batch, size: number): Batch[] =>
  Array.from({ length: Math.ceil(batch.ids.length / size) }, (_, i) => ({
    ...batch,
    ids: batch.ids.slice(i * size, (i + 1) * size),
  }))

/** Groups runs at the same place of the same version. */
const batchesOf = (runs: readonly DueRun[]): Batch[] =>
  [...Map.groupBy(runs, ({ journeyId, place }) => `${journeyId} ${place}`).values()].flatMap((own) => {
    const { accountId, journeyId } = own[0]!
    return inParts({ accountId, journeyId, ids: own.map(({ id }) => id) }, batchSize)
  })

/**
 * Advances due runs through their journeys until `signal` is aborted, then finishes the open units of work and resolves. Any number
 * of loops may run on one database; each step is done once. A Problem ends its run. Any other error is reported and recorded on
 * the run, which is tried again with growing delays. No error ends the loop.
 */
export const runJourneys = (
  app: App,
  signal: AbortSignal,
  { report = () => {}, ...ports }: Ports & { report?: Report },
): Promise<void> =>
  runSchedule(app, journeysChannel, signal, report, ({ ring }) => {
    const units = createTaskPool(unitLimits)
    const inFlight = createInFlight(ring)
    const definitionOf = createDefinitionCache()
    const look = followLooks(app, 'journeys', ring)
    let askedAt = Number.NEGATIVE_INFINITY

    const release = ({ accountId, ids }: Batch) => {
      if (inFlight.remove(accountId, ids)) ring()
    }

    const recordUnexpected = async ({ accountId, journeyId, ids: [runId] }: Batch, error: unknown) => {
      report(error, { accountId, journeyId, runId: runId! })
      try {
        await recordError(app, { accountId, id: runId! }, (error as Error)?.message ?? String(error))
        inFlight.remove(accountId, [runId!])
      } catch {
        inFlight.skip([runId!], unrecordedMs)
      }
    }

    /** Takes each run in its own unit of work. At the first run that has to wait for a lock, the remaining runs are released. */
    const takeEach = async (batch: Batch) => {
      const parts = inParts(batch, 1)
      for (const [i, part] of parts.entries()) {
        if (signal.aborted) return release({ ...batch, ids: batch.ids.slice(i) })
        if (await take(part)) continue
        return inFlight.skip(batch.ids.slice(i + 1), lockedMs)
      }
    }

    /** Advances a batch by one unit of work. Returns false if a single run has to wait for a lock or for the database. */
    const take = async (batch: Batch): Promise<boolean> => {
      const isSingle = batch.ids.length === 1
      try {
        // Loaded when a run is due, which keeps the thread small.
        const { walkBatch } = await import('./unit.ts')
        const { again, batchLimit, untaken } = await walkBatch(app, batch, { definitionOf, ports })
        const done = new Set([...again, ...untaken])
        release({ ...batch, ids: batch.ids.filter((id) => !done.has(id)) })
        inFlight.skip(untaken, lockedMs)
        const onward = { ...batch, ids: again }
        if (isSingle && again.length > 0) {
          // The next query finds it again, in a batch with other runs at its new place.
          release(onward)
          ring()
        } else for (const part of inParts(onward, Math.min(batchLimit, batchSize))) push(part)
      } catch (error) {
        if (!isSingle) await takeEach(batch)
        else if (error instanceof StaleRun) release(batch)
        else if (!isUnavailable(error)) await recordUnexpected(batch, error)
        else {
          inFlight.skip(batch.ids, unavailableMs)
          return false
        }
      }
      return true
    }

    const push = (batch: Batch) =>
      units.push(batch.accountId, async () => {
        if (signal.aborted) release(batch)
        else await take(batch)
      })

    return {
      async turn(isAsked) {
        const capacity = inFlight.capacity()
        if (capacity.total === 0) return pollMs
        const isBusy = capacity.except.length > 0
        const isIdle = !isAsked && !isBusy && look.isIdle && performance.now() - askedAt < ownMs
        if (!isIdle) askedAt = performance.now()
        const isDue = isBusy || (!isIdle && (await isAnythingDue(app.sql, app.now())))
        const found = isDue ? await findDue(app.database, app.now(), capacity, inFlight.hasBacklog) : null
        app.beat()
        if (!found) return pollMs
        const { runs, isComplete } = found
        inFlight.add(runs, isComplete)
        for (const batch of batchesOf(runs)) push(batch)
        return pollMs
      },

      finish() {
        look.close()
        return units.idle()
      },
    }
  })

export const jobs = [
  defineJob('journeys', {
    every: 'a notice, 2 s',
    does: 'Walks journey runs whose step is due',
    run: async (app, signal, report) =>
      runJourneys(app, signal, { report, sendMails: async (...of) => (await app.journeyMails())(...of) }),
  }),
]
