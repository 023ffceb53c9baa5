import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { advanceClock } from '../../../src/store/clock.ts'
import { type Database, openDatabase } from '../../../src/store/database.ts'
import type { Random } from '../../support/random.ts'
import { stepClock } from './clock.ts'
import type { Daemons } from './daemons.ts'
import { move } from './moves.ts'
import type { Diary } from './report.ts'
import { reminderDelayMs, type World } from './world.ts'

/** The parts that a fault can break. */
export interface Scene {
  world: World
  daemons: Daemons
  importers: ReadonlySet<ChildProcess>
  /** The folder of the files that the run writes. */
  folder: string
  random: Random
  /** Aborted at the end of the run; every fault ends then. */
  over: AbortSignal
}

export interface Fault {
  name: string
  /** Breaks something and repairs it; returns what exactly it did. */
  run(scene: Scene): Promise<string>
}

/** How long a fault waits for a daemon that serves. */
const longestOutageMs = 10_000

/** Waits for `seconds`, or until the run ends. */
const pause = async ({ over }: Scene, seconds: number): Promise<string> => {
  await sleep(seconds * 1000, undefined, { signal: over }).catch(() => {})
  return `${seconds} s`
}

const secondsOf = ({ random }: Scene, most: number): number => Math.round(random.next() * most * 10) / 10

const onDatabase = async (url: string, run: (database: Database) => Promise<unknown>): Promise<void> => {
  const database = openDatabase(url, { max: 1 })
  await run(database)
    .catch(() => {})
    .finally(() => database.close())
}

const queues = ['pending_deliveries', 'message_queue'] as const
const tables = [
  ...['contacts', 'addresses', 'contact_lists', 'delivery_targets', 'messages', 'journey_runs'],
  ...['webinars', 'deals', 'quota_uses', 'workers'],
]

/** Locks rows of a table as another program's session would; in a queue, claimed rows first. */
const holdRows = async (scene: Scene, table: string, rows: number, seconds: number): Promise<string> => {
  const session = new pg.Client({ connectionString: scene.world.url })
  session.on('error', () => {})
  try {
    await session.connect()
    await session.query('begin')
    const first = queues.some((name) => name === table) ? 'worker is null, ' : ''
    await session.query(`select from ${table} order by ${first}random() limit ${rows} for update skip locked`)
    await pause(scene, seconds)
    await session.query('rollback')
  } catch {
    // The server went down in the meantime, which released the locks.
  } finally {
    await session.end().catch(() => {})
  }
  return `${rows} rows of ${table}, ${seconds} s`
}

const lockRows = (scene: Scene): Promise<string> => {
  const { random } = scene
  const table = random.next() < 0.4 ? random.pick(queues) : random.pick(tables)
  return holdRows(scene, table, random.between(1, 20), secondsOf(scene, 20))
}

/** Sends SIGTERM while rows that the daemon must update are locked for longer than its stop may take. */
const stopBehindLock = async (scene: Scene): Promise<string> => {
  const held = holdRows(scene, scene.random.pick(queues), 100, 20)
  await pause(scene, 0.3)
  const daemon = await restart('SIGTERM')(scene)
  return `${daemon}, ${await held}`
}

const freeze = async (scene: Scene): Promise<string> => {
  const daemon = scene.random.pick(scene.daemons.all)
  daemon.freeze()
  const seconds = await pause(scene, 1 + secondsOf(scene, 29))
  daemon.thaw()
  return `daemon ${daemon.number}, ${seconds}`
}

const restart =
  (signal: 'SIGKILL' | 'SIGTERM') =>
  async ({ random, daemons }: Scene): Promise<string> => {
    const daemon = random.pick(daemons.all)
    await daemon.restart(signal)
    return `daemon ${daemon.number}`
  }

const otherVersion = { before: 'this', this: 'before' } as const

/** Replaces the daemons one after the other by those of the other version: an upgrade, then the way back. */
const upgrade = async (scene: Scene): Promise<string> => {
  const { daemons } = scene
  const version = otherVersion[daemons.all[0]!.version]
  for (const daemon of daemons.all) {
    daemon.version = version
    await daemon.restart('SIGTERM')
    await Promise.race([daemons.ready(longestOutageMs), pause(scene, longestOutageMs / 1000)])
  }
  return `to ${version === 'this' ? 'this version' : 'the version before'}`
}

const cut = async ({ random, daemons }: Scene): Promise<string> => {
  const { proxy, number } = random.pick(daemons.all)
  const connections = proxy.connections()
  proxy.cut()
  return `${connections} connections of daemon ${number}`
}

/** Silences a daemon's database connections, either for a while or for good. */
const silence = async (scene: Scene): Promise<string> => {
  const { proxy, number } = scene.random.pick(scene.daemons.all)
  const comesBack = scene.random.next() < 0.3
  const connections = proxy.silence()
  const what = `${connections} connections of daemon ${number}`
  if (!comesBack) return `${what}, for good`
  const seconds = await pause(scene, 1 + secondsOf(scene, 19))
  proxy.resume()
  return `${what}, ${seconds}`
}

const terminate = async ({ world, random }: Scene): Promise<string> => {
  await onDatabase(world.url, ({ sql }) =>
    sql(
      `select pg_terminate_backend(pid) from (
         select pid from pg_stat_activity where datname = current_database() and application_name like 'svc%'
         order by random() limit $1
       ) victims`,
      [random.between(1, 20)],
    ),
  )
  return ''
}

const advance = async ({ world, random }: Scene): Promise<string> => {
  // Small enough that all steps together stay below the delay of the reminders.
  const seconds = random.between(1, reminderDelayMs / 1000 / 50)
  await onDatabase(world.url, (database) => advanceClock(database, seconds * 1000))
  return `${seconds} s`
}

const step = async ({ world, random }: Scene): Promise<string> => {
  const seconds = random.pick([-1, 1]) * random.between(30, 120)
  await onDatabase(world.url, ({ sql }) => stepClock(sql, seconds))
  return `to ${seconds} s`
}

/** Slow enough that a transfer is in progress at any time. */
export const usualRelay = { delayMs: 150 }
export const usualReceiver = { delayMs: 150 }

const slowRelay = async (scene: Scene): Promise<string> => {
  scene.world.sink.always({ delayMs: 1500 })
  const seconds = await pause(scene, 1 + secondsOf(scene, 6))
  scene.world.sink.always(usualRelay)
  return seconds
}

const slowReceiver = async (scene: Scene): Promise<string> => {
  scene.world.receiver.always({ delayMs: 1500 })
  const seconds = await pause(scene, 1 + secondsOf(scene, 6))
  scene.world.receiver.always(usualReceiver)
  return seconds
}

const killImport = async ({ importers, random }: Scene): Promise<string> => {
  if (importers.size === 0) return 'none was running'
  random.pick([...importers]).kill('SIGKILL')
  return ''
}

/** Faults of the daemons, their network and their neighbours, for every kind of server. */
export const faults: readonly Fault[] = [
  { name: 'kill -9', run: restart('SIGKILL') },
  { name: 'SIGTERM', run: restart('SIGTERM') },
  { name: 'SIGTERM behind a lock', run: stopBehindLock },
  { name: 'freeze', run: freeze },
  { name: 'cut', run: cut },
  { name: 'silence', run: silence },
  { name: 'terminate sessions', run: terminate },
  { name: 'lock rows', run: lockRows },
  { name: 'advance clock', run: advance },
  { name: 'step clock', run: step },
  { name: 'rolling upgrade', run: upgrade },
  { name: 'move account', run: move },
  { name: 'slow relay', run: slowRelay },
  { name: 'slow receiver', run: slowReceiver },
  { name: 'kill import', run: killImport },
]

/** The limits of the pause between two faults, in seconds. */
const leastRest = 0.5
const mostRest = 3

/**
 * Causes faults, several at a time, until the run ends. Each kind occurs once before any is repeated. Resolves once
 * everything is repaired.
 */
export const cause = async (scene: Scene, kinds: readonly Fault[], diary: Diary): Promise<void> => {
  const caused: Promise<void>[] = []
  let deck: Fault[] = []
  for (let n = 0; ; n++) {
    await pause(scene, leastRest + scene.random.next() * (mostRest - leastRest))
    // While no daemon serves, there is nothing to break.
    await Promise.race([scene.daemons.ready(longestOutageMs, 'one'), pause(scene, longestOutageMs / 1000)])
    if (scene.over.aborted) break
    if (deck.length === 0) deck = scene.random.shuffled(kinds)
    const fault = deck.pop()
    if (!fault) continue
    diary.began(fault.name)
    const done = fault
      .run({ ...scene, random: scene.random.fork(`${fault.name} ${n}`) })
      .then((what) => diary.ended(fault.name, what))
    // A fault that could not be caused is reported at the end.
    done.catch(() => {})
    caused.push(done)
  }
  await Promise.all(caused)
  await onDatabase(scene.world.url, ({ sql }) => stepClock(sql, 0))
}
