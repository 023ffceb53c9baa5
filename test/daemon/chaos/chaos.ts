import type { ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { advanceClock } from '../../../src/store/clock.ts'
import { canContinue, unpackBefore } from '../../support/before.ts'
import { createRandom } from '../../support/random.ts'
import { limit } from '../../support/slowness.ts'
import { createApi } from './api.ts'
import { checkEvents, checkMails, checkQuotas } from './checks.sent.ts'
import { checkContacts, checkDeals, checkImports, checkRuns, checkSeats, type Found } from './checks.ts'
import { type Daemons, startDaemons } from './daemons.ts'
import { cause, type Fault, faults, usualReceiver, usualRelay } from './faults.ts'
import { createLedger } from './ledger.ts'
import { unexpectedLines } from './logs.ts'
import { checkMoves } from './moves.ts'
import { countsOf, createDiary, writeReport } from './report.ts'
import { describeOpen, settle } from './settle.ts'
import { openWorld, reminderDelayMs, type World } from './world.ts'
import { write } from './writers.ts'

/** The PostgreSQL server of the run, and the faults that only this kind of server can have. */
export interface Server {
  url: string
  faults: readonly Fault[]
  log(): Promise<string>
}

export interface Options {
  seed: number
  seconds: number
  /** The names of the faults to cause; all if absent. */
  only?: readonly string[] | undefined
  /** Called after the checks, which then run a second time. */
  sabotage?: (world: World) => Promise<void>
}

export interface Outcome {
  violations: string[]
  /** The violations that the checks found after the sabotage. */
  damages: string[]
  /** Lines that summarise what was written, caused and counted. */
  summary: string[]
  /** The path of a file with all details of the run; null if it had no violations. */
  report: string | null
}

const settleMs = limit(120_000)
/** After kill -9 at most this many emails of a daemon are in doubt: one for each relay connection of two threads. */
const doubtsPerKill = 10

/** Waits until everything that was written is carried out; returns how long that took, in ms, and what is still open. */
const calmDown = async (world: World, daemons: Daemons, writing: Promise<void>, violations: string[]) => {
  const quietAt = performance.now()
  const passed = () => Math.round(performance.now() - quietAt)
  if (!(await daemons.ready(settleMs))) violations.push('the daemons did not become ready again')
  // Makes everything due now that waits for its time or for its next attempt.
  await advanceClock(world.app.database, reminderDelayMs + 1000)
  await writing
  const writtenMs = passed()
  await advanceClock(world.app.database, 6 * reminderDelayMs)
  const { open, last } = await settle(world.app.sql, settleMs - writtenMs)
  const settledMs = passed()
  for (const [kind, count] of Object.entries(open))
    violations.push(`after ${settledMs} ms still open: ${count} × ${kind}`)
  return { writtenMs, settledMs, last, stuck: Object.keys(open).length > 0 ? await describeOpen(world.app.sql) : [] }
}

/** Compares the database with what was acknowledged; returns the number of emails in doubt. */
const check = async (found: Found, kills: number): Promise<number> => {
  for (const one of [
    checkContacts,
    checkImports,
    checkDeals,
    checkRuns,
    checkSeats,
    checkEvents,
    checkQuotas,
    checkMoves,
  ])
    await one(found)
  const inDoubt = await checkMails(found)
  if (inDoubt > doubtsPerKill * kills) found.violated(`${inDoubt} mails are in doubt after ${kills} × kill -9`)
  return inDoubt
}

/**
 * Runs the writers and causes faults for `seconds`, then waits until everything is settled, and checks that nothing
 * was lost, done twice or left behind.
 */
export const runChaos = async (server: Server, { seed, seconds, only, sabotage }: Options): Promise<Outcome> => {
  const random = createRandom(seed)
  const folder = await mkdtemp(join(tmpdir(), 'svc-chaos-files-'))
  const world = await openWorld(server.url)
  const before = canContinue ? await unpackBefore(await mkdtemp(join(folder, 'before-'))) : null
  const daemons = await startDaemons(2, world.url, world.env, before)
  const importers = new Set<ChildProcess>()
  const stop = new AbortController()
  const giveUp = new AbortController()
  const timers: NodeJS.Timeout[] = []
  const abortAfter = (controller: AbortController, ms: number) =>
    void timers.push(setTimeout(() => controller.abort(), ms))
  try {
    if (!(await daemons.ready(settleMs))) throw new Error('The daemons did not become ready')
    world.sink.always(usualRelay)
    world.receiver.always(usualReceiver)
    const ledger = createLedger()
    const diary = createDiary()
    const violations: string[] = []
    const api = createApi(daemons.all, world.key, random.fork('api'), giveUp.signal)
    const writing = write({
      ...{ world, api, ledger, random, folder, importers, complaints: violations },
      ways: daemons.all.map(({ proxy }) => proxy.through(world.url)),
      stop: stop.signal,
      giveUp: giveUp.signal,
    })
    writing.catch(() => {})

    abortAfter(stop, seconds * 1000)
    const kinds = [...faults, ...server.faults].filter(
      ({ name }) => (only?.includes(name) ?? true) && (before !== null || name !== 'rolling upgrade'),
    )
    await cause({ world, daemons, importers, folder, random: random.fork('faults'), over: stop.signal }, kinds, diary)
    abortAfter(giveUp, settleMs)
    const { writtenMs, settledMs, last, stuck } = await calmDown(world, daemons, writing, violations)

    const found: Found = { world, ledger, sql: world.app.sql, violated: (what) => violations.push(what) }
    const inDoubt = await check(found, diary.counts['kill -9'] ?? 0)
    violations.push(...api.complaints(), ...daemons.complaints, ...unexpectedLines(daemons.lines))
    const { contacts, sends, deals, travellers, seats, imports } = ledger
    const summary = [
      `acknowledged: ${contacts.size} contacts, ${sends.length} sends, ${deals.length} deals, ${travellers.length} runs, ${seats.length} seats, ${imports.length} imports`,
      `received: ${world.receiver.requests.length} posts, ${world.sink.mails.length} mails; ${inDoubt} mails in doubt`,
      `answers: ${countsOf(api.statuses)}; slowest ${api.slowestMs} ms, longest time without a good one ${api.longestGapMs} ms`,
      `faults: ${countsOf(diary.counts)}`,
      `all was written ${writtenMs} ms after the last fault, and settled after ${settledMs} ms; last: ${countsOf(last)}`,
    ]
    const parts = { seed, violations, summary, stuck, diary: diary.lines, lines: daemons.lines, serverLog: server.log }
    const report = violations.length > 0 ? await writeReport(parts) : null
    const damages: string[] = []
    if (sabotage) {
      await sabotage(world)
      await check({ ...found, violated: (what) => damages.push(what) }, 0)
    }
    return { violations, damages, summary, report }
  } finally {
    for (const timer of timers) clearTimeout(timer)
    stop.abort()
    giveUp.abort()
    await daemons.close()
    await world.close()
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
