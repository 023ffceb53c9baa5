import { invalid, Problem } from '../lib/problem.ts'
import type { TypeMap } from './column-types.ts'
import type { Database, Sql } from './database.ts'
import { readTableNames } from './schema.ts'
import { preparedStatement, statement } from './statement.ts'
import { listen } from './wakeup.ts'

/*
 * All processes use one time: that of the database server, plus an offset in a development database. Statements read it
 * with `svc_now()`. Processes compute it from their own clock and the difference (skew) between the two, which they measure at
 * the start and then at intervals. So a machine whose clock is a minute off still does everything at the right time.
 */

/** The time of one database, as this process computes it. */
export interface Clock {
  /** `svc dev` created the database, or opened it while it was empty. */
  readonly isDevelopment: boolean
  now(): Date
  /** The process's own clock plus the database's offset: for times that receivers compare with their own clocks (signatures). */
  systemNow(): Date
  /** Calls `run` each time the clock of a development database has moved and `now` reflects it, until the returned function is called. */
  onMoved(run: () => void): () => void
  /** Reads the clock of a development database again, because a statement can see a move of it before its notice arrives. */
  catchUp(): Promise<void>
  close(): Promise<void>
}

/** The clock of a development database. `now` in epoch ms. */
export interface ClockView {
  now: number
  offsetMs: number
}

const channel = 'svc_clock'

/** How often a running process measures the skew again. The four threads of an idle daemon each make this statement. */
const measureEveryMs = 60_000
/** How often it checks whether its own clock was set, which needs no statement. It measures again then. */
const checkEveryMs = 5_000
/** Smaller corrections, such as those by NTP, wait for the next measurement. */
const jumpMs = 100

const systemNow = () => new Date()

/** Returns a clock without skew and offset: the process's own. */
export const localClock = (now: () => Date): Clock => ({
  isDevelopment: false,
  now,
  systemNow: now,
  onMoved: () => () => {},
  catchUp: async () => {},
  close: async () => {},
})

const isTableMissing = (error: unknown): boolean => (error as { code?: string }).code === '42P01'

/** One reading of the database's clock. */
interface Reading {
  /** Bounds of the skew in ms: the server read its clock at an unknown moment of the round trip. */
  least: number
  most: number
  /** It is null unless the database is for development. */
  offsetMs: number | null
}

const readServerTime = statement(
  'server-time',
  { row: { at: 'float8', offsetMs: 'int8?' } },
  `select extract(epoch from clock_timestamp())::float8 * 1000 as at,
     (select offset_ms from development_clock) as "offsetMs"`,
)

const readClock = async (sql: Sql): Promise<Reading> => {
  const sentAt = Date.now()
  const [row] = await sql(readServerTime)
  const { at, offsetMs } = row!
  // Date.now() is truncated to whole ms: the true time may be almost 1 ms later.
  return { least: at - Date.now() - 1, most: at - sentAt, offsetMs }
}

const allows = ({ least, most }: Reading, skewMs: number): boolean => least <= skewMs && skewMs <= most

/**
 * Keeps the known skew while it is within the reading's bounds. So a slow round trip changes nothing, and the skew stays exactly
 * 0 if the server runs on this machine.
 */
const skewAfter = (reading: Reading, skewMs: number): number =>
  allows(reading, skewMs) ? skewMs : (reading.least + reading.most) / 2

/** Returns the first reading if it allows a skew of 0, otherwise the most precise of three. */
const firstReading = async (sql: Sql): Promise<Reading> => {
  let best = await readClock(sql)
  for (let readings = 1; readings < 3 && !allows(best, 0); readings++) {
    const next = await readClock(sql)
    if (next.most - next.least < best.most - best.least) best = next
  }
  return best
}

const insertMark = statement(
  'mark-development',
  {},
  'insert into development_clock (id, offset_ms) values (1, 0) on conflict do nothing',
)

/** Marks the database as a development database, whose clock may be moved. */
export const markDevelopment = async (sql: Sql): Promise<void> => {
  await sql(insertMark)
}

const readMark = preparedStatement('is-development', {}, 'select from development_clock')

/** Whether `svc dev` has marked the database as a development database. */
export const isDevelopment = async (sql: Sql): Promise<boolean> => (await sql(readMark)).length > 0

/**
 * Keeps `svc dev` from using a database that it did not create. Throws Problem `configuration` if the database is not marked and
 * is in use (`isUsed`), or has tables of another program.
 */
export const requireDevelopment = async (sql: Sql, isUsed: () => Promise<boolean>): Promise<void> => {
  const tables = await readTableNames(sql)
  if (tables.length === 0) return
  if (tables.includes('development_clock')) {
    if ((await isDevelopment(sql)) || !(await isUsed())) return
  }
  throw new Problem('configuration', 'DATABASE_URL names a database that has data and that svc dev did not make', {
    hint: 'svc serve, or set DATABASE_URL to an empty database',
  })
}

/**
 * Opens the clock of the database and keeps its skew and offset current until `close`. If another process moves the clock of a
 * development database, a notice updates it at once. Does not keep the process alive.
 */
export const openClock = async (database: Database): Promise<Clock> => {
  // A schema that is behind may not have the table yet: `svc db` works on those too.
  const found = await firstReading(database.sql).catch((error) => {
    if (isTableMissing(error)) return null
    throw error
  })
  if (!found) return localClock(systemNow)
  let skewMs = 0
  let offsetMs = 0
  const follow = (reading: Reading) => {
    skewMs = skewAfter(reading, skewMs)
    offsetMs = reading.offsetMs ?? 0
  }
  /** Returns whether a reading succeeded. One that fails changes nothing; each reconnect of the listener triggers one, too. */
  const measure = async (): Promise<boolean> => {
    const reading = await readClock(database.sql).catch(() => null)
    if (reading) follow(reading)
    return reading !== null
  }
  follow(found)
  /** What the process's own clock showed when its monotonic clock began. Setting the clock, or suspending the machine, changes it. */
  const origin = () => Date.now() - performance.now()
  let measured = { at: performance.now(), origin: origin() }
  let isMeasuring = false
  const check = async () => {
    const next = { at: performance.now(), origin: origin() }
    const isDue = next.at - measured.at >= measureEveryMs || Math.abs(next.origin - measured.origin) >= jumpMs
    if (isMeasuring || !isDue) return
    isMeasuring = true
    // After a suspension the connections are often lost: the next check repeats a reading that fails.
    if (await measure()) measured = next
    isMeasuring = false
  }
  const timer = setInterval(check, checkEveryMs).unref()
  const moved = new Set<() => void>()
  const measureAndNotify = async () => {
    await measure()
    for (const run of moved) run()
  }
  const notices = found.offsetMs === null ? null : listen(database, channel, measureAndNotify)
  return {
    isDevelopment: found.offsetMs !== null,
    now: () => new Date(Date.now() + Math.round(skewMs) + offsetMs),
    systemNow: () => new Date(Date.now() + offsetMs),
    onMoved(run) {
      moved.add(run)
      return () => void moved.delete(run)
    },
    async catchUp() {
      if (found.offsetMs !== null) await measure()
    },
    async close() {
      clearInterval(timer)
      await notices?.close()
    },
  }
}

const notDevelopment = () =>
  new Problem('forbidden', 'Only the clock of a development database moves', {
    hint: 'svc dev makes one; name its data folder with SVC_DATA_DIR',
  })

/** The time of the server in epoch ms. */
const serverMs = 'floor(extract(epoch from clock_timestamp()) * 1000)::bigint'
const view = `${serverMs} + offset_ms as now, offset_ms as "offsetMs"`
const viewTypes = { now: 'int8', offsetMs: 'int8' } as const

/** The last year that the clock can reach: ids and times in statements have years of four digits. */
const lastYear = 9998
const endMs = Date.UTC(lastYear + 1, 0)

const tooFar = () => invalid(`The clock can't be moved beyond the year ${lastYear}`)

const readView = statement('show-clock', { row: viewTypes }, `select ${view} from development_clock`)

/** Returns the clock of a development database. Throws Problem `forbidden` for any other database. */
export const showClock = async (sql: Sql): Promise<ClockView> => {
  const [shown] = await sql(readView)
  if (!shown) throw notDevelopment()
  return shown
}

/** Returns what the clock would show after `advanceClock`, and throws what it would throw. */
export const clockAfter = async (sql: Sql, byMs: number): Promise<ClockView> => {
  const { now, offsetMs } = await showClock(sql)
  if (now + byMs >= endMs) throw tooFar()
  return { now: now + byMs, offsetMs: offsetMs + byMs }
}

const moving = <const Parameters extends TypeMap>(name: string, parameters: Parameters, offset: string) =>
  statement(
    name,
    { row: viewTypes, parameters },
    `with moved as (update development_clock set offset_ms = ${offset}
       where ${serverMs} + ${offset} < ${endMs} returning offset_ms)
     select ${view} from moved`,
  )

const advance = moving('advance-clock', { byMs: 'int8' }, 'offset_ms + :byMs')
const reset = moving('reset-clock', {}, '0')

type Development = Pick<Database, 'sql' | 'notices'>

const move = async ({ sql, notices }: Development, views: Promise<readonly ClockView[]>): Promise<ClockView> => {
  const [moved] = await views
  if (!moved) {
    await showClock(sql)
    throw tooFar()
  }
  notices.announce(channel)
  return moved
}

/**
 * Moves the clock of a development database forward by `byMs`. Throws Problem `forbidden` for any other database, `invalid` if it would
 * pass the last year.
 */
export const advanceClock = (database: Development, byMs: number): Promise<ClockView> =>
  move(database, database.sql(advance, { byMs }))

/** Sets the clock of a development database back to the system time. Throws Problem `forbidden` for any other database. */
export const resetClock = (database: Development): Promise<ClockView> => move(database, database.sql(reset))
