import { runSchedule } from '../queue/loop.ts'
import { isUnavailable } from '../store/database.ts'
import type { App } from '../store/work.ts'
import type { Definition } from './journeys.definition.ts'
import { type DueRun, findDue, isAnythingDue } from './run.due.ts'
import { createHands } from './run.hands.ts'
import { createLanes } from './run.lanes.ts'
import { recordFault, Stale } from './run.record.ts'
import { type Batch, type DefinitionOf, walkBatch } from './run.unit.ts'
import type { Ports } from './steps.effects.ts'

/** Runs that share a unit of work. */
const batchSize = 256
/** Units of work at once: below the connections of the thread's pool. */
const working = { limit: 3, each: 2 }

/** Somebody else has the run: whoever it is will soon be done with it. */
const elsewhereMs = 200
/** A row that it needs is locked, or the database is away. */
const busyMs = 2000
/** Its fault could not be recorded. */
const faultyMs = 10_000

const maxKept = 1000

/** Notices wake the loop; this is for what comes due by time. */
const pollMs = 2000

/** Whose run it was, where one is known. */
export type FaultAt = { accountId: string; journeyId: string; runId: string } | Record<never, never>

export interface JobPorts extends Ports {
  /** Is told of faults of ours: the run is tried again. */
  report?(fault: unknown, at: FaultAt): void
}

const createLibrary = (): DefinitionOf => {
  const kept = new Map<string, Definition>()
  return async ({ sql, accountId }, { journeyId, version }) => {
    const key = `${journeyId} ${version}`
    const known = kept.get(key)
    if (known) return known
    const [row] = await sql<{ definition: Definition }>(
      'select definition from journey_versions where account_id = $1 and journey_id = $2 and version = $3',
      [accountId, journeyId, version],
    )
    if (!row) throw new Error(`There is no version ${version} of ${journeyId}`)
    if (kept.size >= maxKept) kept.clear()
    kept.set(key, row.definition)
    return row.definition
  }
}

const inParts = (batch: Batch, size: number): Batch[] =>
  Array.from({ length: Math.ceil(batch.ids.length / size) }, (_, i) => ({
    ...batch,
    ids: batch.ids.slice(i * size, (i + 1) * size),
  }))

/** Those that stand at one place of one version go together. */
const batchesOf = (runs: readonly DueRun[]): Batch[] =>
  [...Map.groupBy(runs, ({ journeyId, place }) => `${journeyId} ${place}`).values()].flatMap((own) => {
    const { accountId, journeyId } = own[0]!
    return inParts({ accountId, journeyId, ids: own.map(({ id }) => id) }, batchSize)
  })

/**
 * Takes the runs whose next step is due through their journeys, until `signal` is aborted; then finishes the units of work
 * under way and resolves. Any number may run on one database. A Problem ends the run that it is about. Any other fault is
 * reported and recorded on the run, which is tried again with growing waits; none ends the loop. Each step is done once.
 */
export const runJourneys = (app: App, signal: AbortSignal, { report = () => {}, ...ports }: JobPorts): Promise<void> =>
  runSchedule(app, 'svc_journeys', signal, report, ({ ring }) => {
    const units = createLanes(working)
    const hands = createHands(ring)
    const definitionOf = createLibrary()

    const leave = ({ accountId, ids }: Batch) => {
      if (hands.drop(accountId, ids)) ring()
    }

    const fault = async ({ accountId, journeyId, ids: [runId] }: Batch, error: unknown) => {
      report(error, { accountId, journeyId, runId: runId! })
      try {
        await recordFault(app, { accountId, id: runId! }, (error as Error)?.message ?? String(error))
        hands.drop(accountId, [runId!])
      } catch {
        hands.rest([runId!], faultyMs)
      }
    }

    /** Each of them in a unit of its own; the first that has to wait for others leaves the rest for later. */
    const takeEach = async (batch: Batch) => {
      const parts = inParts(batch, 1)
      for (const [i, part] of parts.entries()) {
        if (signal.aborted) return leave({ ...batch, ids: batch.ids.slice(i) })
        if (await take(part)) continue
        return hands.rest(batch.ids.slice(i + 1), elsewhereMs)
      }
    }

    /** Gives false where a run alone has to wait for others. */
    const take = async (batch: Batch): Promise<boolean> => {
      const isAlone = batch.ids.length === 1
      try {
        const { again, together, untaken } = await walkBatch(app, batch, { definitionOf, ports })
        const done = new Set([...again, ...untaken])
        leave({ ...batch, ids: batch.ids.filter((id) => !done.has(id)) })
        hands.rest(untaken, elsewhereMs)
        const onward = { ...batch, ids: again }
        if (isAlone && again.length > 0) {
          // Found again, together with those that stand where it stands now.
          leave(onward)
          ring()
        } else for (const part of inParts(onward, Math.min(together, batchSize))) push(part)
      } catch (error) {
        if (!isAlone) await takeEach(batch)
        else if (error instanceof Stale) leave(batch)
        else if (!isUnavailable(error)) await fault(batch, error)
        else {
          hands.rest(batch.ids, busyMs)
          return false
        }
      }
      return true
    }

    const push = (batch: Batch) =>
      units.push(batch.accountId, async () => {
        if (signal.aborted) leave(batch)
        else await take(batch)
      })

    return {
      async turn() {
        const rooms = hands.rooms()
        if (rooms.total === 0) return pollMs
        const isDue = rooms.except.length > 0 || (await isAnythingDue(app.sql, app.now()))
        const found = isDue ? await findDue(app.database, app.now(), rooms, hands.isLong) : null
        app.beat()
        if (!found) return pollMs
        const { runs, isAll } = found
        hands.take(runs, isAll)
        for (const batch of batchesOf(runs)) push(batch)
        return pollMs
      },

      finish: () => units.idle(),
    }
  })
