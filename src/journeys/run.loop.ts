import { setTimeout as sleep } from 'node:timers/promises'
import { isPassing, runQueue, settleMs } from '../store/queue.ts'
import type { App } from '../store/work.ts'
import type { Definition } from './journeys.definition.ts'
import { stepAt } from './journeys.walk.ts'
import { type ClaimedRun, claimDue, type Rooms, releaseClaims } from './run.claim.ts'
import { createLanes } from './run.lanes.ts'
import { takeStep } from './run.step.ts'
import type { Going, Walked } from './run.walker.ts'
import { doSocket, postTimeoutMs, type SocketPorts, type SocketStep } from './steps.socket.ts'

/** Claims of a process at once, and of an account among them. */
const totalLimit = 512
const accountLimit = 256
/** Runs that share a unit of work. */
const batchSize = 128
/** Units of work at once: below the connections of the thread's pool. */
const working = { limit: 3, each: 2 }
const posting = { limit: 128, each: 64 }
/** A run whose lease ends sooner is not taken further: whoever claims it next does it. */
const leastLeaseMs = 2000

const maxKept = 1000

/** The definitions of versions, which never change. */
const createLibrary = ({ sql }: Pick<App, 'sql'>) => {
  const kept = new Map<string, Definition>()
  return async ({ accountId, journeyId, version }: ClaimedRun): Promise<Definition> => {
    const key = `${journeyId} ${version}`
    const known = kept.get(key)
    if (known) return known
    const [row] = await sql<{ definition: Definition }>(
      'select definition from journey_versions where account_id = $1 and journey_id = $2 and version = $3',
      [accountId, journeyId, version],
    )
    if (kept.size >= maxKept) kept.clear()
    kept.set(key, row!.definition)
    return row!.definition
  }
}

/** Who has how much claimed. */
const createRooms = () => {
  const accounts = new Map<string, number>()
  let total = 0
  let isMore = false
  return {
    rooms(): Rooms {
      const left = [...accounts].map(([accountId, claimed]) => [accountId, accountLimit - claimed])
      return { total: totalLimit - total, accounts: Object.fromEntries(left), accountDefault: accountLimit }
    },
    add(runs: readonly ClaimedRun[], rooms: Rooms) {
      const brought = Map.groupBy(runs, ({ accountId }) => accountId)
      total += runs.length
      for (const [accountId, { length }] of brought) accounts.set(accountId, (accounts.get(accountId) ?? 0) + length)
      isMore = runs.length >= rooms.total || [...accounts.values()].some((claimed) => claimed >= accountLimit)
    },
    /** Gives whether to claim anew: there is room, and there may be something to fill it. */
    done({ accountId }: ClaimedRun): boolean {
      total--
      const claimed = accounts.get(accountId)! - 1
      if (claimed > 0) accounts.set(accountId, claimed)
      else accounts.delete(accountId)
      return isMore && total <= totalLimit / 2 && claimed <= accountLimit / 2
    },
  }
}

const batchesOf = (runs: readonly ClaimedRun[]): ClaimedRun[][] =>
  [...Map.groupBy(runs, ({ journeyId }) => journeyId).values()].flatMap((own) =>
    Array.from({ length: Math.ceil(own.length / batchSize) }, (_, i) => own.slice(i * batchSize, (i + 1) * batchSize)),
  )

/** The run as it stands after its unit of work. */
const moved = ({ going: { run, definition }, move }: Walked): Going => {
  if (!move) return { run, definition }
  const { status, cursor, stepNo, awaited, context } = move
  const dueAt = new Date(move.dueAt)
  return {
    run: { ...run, status: status as ClaimedRun['status'], cursor: cursor!, stepNo, awaited, context, dueAt },
    definition,
  }
}

/**
 * Takes the runs whose next step is due through their journeys, until `signal` is aborted; then finishes what is under
 * way, gives back the rest and resolves. Any number may run on one database. While the database is away it waits; any
 * other fault rejects, after the same orderly end. Each step is done once; a socket step's call at least once.
 */
export const runJourneys = (app: App, signal: AbortSignal, ports: SocketPorts = {}): Promise<void> =>
  runQueue(app.database, 'svc_journeys', signal, ({ stop, ring, fail }) => {
    const units = createLanes(working)
    const sockets = createLanes(posting)
    const rooms = createRooms()
    const definitionOf = createLibrary(app)
    const unfinished: ClaimedRun[] = []

    const leave = (run: ClaimedRun) => {
      if (rooms.done(run)) ring()
    }

    const giveBack = async (runs: readonly ClaimedRun[]) => {
      if (runs.length === 0) return
      // What can't be given back is free when its lease ends.
      await releaseClaims(app.sql, runs).catch(() => {})
      for (const run of runs) leave(run)
    }

    const hasTime = ({ run }: Going, ms: number) => run.leasedUntil - app.now().getTime() > ms

    const advance = (goings: readonly Going[]) => {
      const first = goings[0]
      if (first) units.push(first.run.accountId, () => takeOn(goings).catch(fail))
    }

    const call = ({ going, contact }: Walked) => {
      const { run, definition } = going
      const step = stepAt(definition, run.cursor) as SocketStep
      sockets.push(run.accountId, async () => {
        if (stop.aborted || !hasTime(going, postTimeoutMs + leastLeaseMs)) {
          unfinished.push(run)
          return
        }
        const reply = await doSocket(app, run, step, contact!, ports).catch((fault) => {
          if (!isPassing(fault)) fail(fault)
          return null
        })
        if (reply) advance([{ run, definition, reply }])
        else unfinished.push(run)
      })
    }

    const follow = (walked: readonly Walked[]) => {
      const onward: Going[] = []
      for (const one of walked) {
        const next = moved(one)
        if (one.needsSocket) call({ ...one, going: next })
        else if (one.move?.isHeld) onward.push(next)
        else leave(one.going.run)
      }
      advance(onward)
    }

    const takeOn = async (goings: readonly Going[]) => {
      const isReady = (going: Going) => going.reply !== undefined || (!stop.aborted && hasTime(going, leastLeaseMs))
      const [ready, late] = [goings.filter(isReady), goings.filter((going) => !isReady(going))]
      unfinished.push(...late.map(({ run }) => run))
      if (ready.length === 0) return
      try {
        const walked = await takeStep(app, ready)
        const taken = new Set(walked.map(({ going }) => going.run.id))
        for (const { run } of ready) if (!taken.has(run.id)) leave(run)
        follow(walked)
      } catch (error) {
        if (!isPassing(error)) throw error
        unfinished.push(...ready.map(({ run }) => run))
      }
    }

    return {
      async claim() {
        await giveBack(unfinished.splice(0))
        const room = rooms.rooms()
        if (room.total === 0) return
        const runs = await claimDue(app.sql, app.now(), room)
        rooms.add(runs, room)
        for (const batch of batchesOf(runs)) {
          const goings: Going[] = []
          for (const run of batch) goings.push({ run, definition: await definitionOf(run) })
          advance(goings)
        }
      },

      async finish() {
        await units.idle()
        await sockets.idle()
        await units.idle()
        await Promise.race([giveBack(unfinished.splice(0)), sleep(settleMs, undefined, { ref: false })])
      },
    }
  })
