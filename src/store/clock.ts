import { Problem } from '../lib/problem.ts'
import type { Database, Sql } from './database.ts'
import { listen } from './wakeup.ts'

/*
 * There is one time: the database server's, in a development database moved by its offset. Statements ask it by
 * `svc_now()`, processes follow it by their own clock and the difference between the two, which is measured at the start
 * and again and again: a machine whose clock is a minute off does everything at the right time.
 */

/** The time of one database, as a process follows it. */
export interface Clock {
  now(): Date
  /** The process's own clock, moved as the database's is: for what others hold against their clocks (signatures). */
  systemNow(): Date
  /** Looks at the database's clock anew, as after a notice that it has moved: others may have heard of it first. */
  look(): Promise<void>
  close(): Promise<void>
}

/** Where the clock of a database stands; times in epoch ms. */
export interface ClockView {
  now: number
  offsetMs: number
}

const channel = 'svc_clock'

/** How often a process that lives looks at the database's clock again. */
const measureEveryMs = 20_000

const systemNow = () => new Date()
const systemClock: Clock = { now: systemNow, systemNow, look: async () => {}, close: async () => {} }

const isTableMissing = (error: unknown): boolean => (error as { code?: string }).code === '42P01'

/** What one look at the database's clock tells. */
interface Reading {
  /** How far it is ahead of ours, in ms: between the two, as nobody knows when within the round trip it was read. */
  least: number
  most: number
  /** null: no development database. */
  offsetMs: number | null
}

const readClock = async (sql: Sql): Promise<Reading> => {
  const sentAt = Date.now()
  const [row] = await sql<{ at: number; offsetMs: number | null }>(
    `select extract(epoch from clock_timestamp())::float8 * 1000 as at,
       (select offset_ms from development_clock) as "offsetMs"`,
  )
  const { at, offsetMs } = row!
  // Ours is cut to whole ms: it may have been almost one later.
  return { least: at - Date.now() - 1, most: at - sentAt, offsetMs }
}

const allows = ({ least, most }: Reading, skewMs: number): boolean => least <= skewMs && skewMs <= most

/** What is known stays while a reading allows it: a slow round trip moves nothing, one machine has one clock exactly. */
const skewAfter = (reading: Reading, skewMs: number): number =>
  allows(reading, skewMs) ? skewMs : (reading.least + reading.most) / 2

/** Where the clocks differ, the closest of three looks. */
const firstReading = async (sql: Sql): Promise<Reading> => {
  let best = await readClock(sql)
  for (let looks = 1; looks < 3 && !allows(best, 0); looks++) {
    const next = await readClock(sql)
    if (next.most - next.least < best.most - best.least) best = next
  }
  return best
}

/** Marks the database as one for development, whose clock may be moved. */
export const markDevelopment = async (sql: Sql): Promise<void> => {
  await sql('insert into development_clock (id, offset_ms) values (1, 0) on conflict do nothing')
}

/** Whether the database was made, or opened, by `svc dev`. */
export const isDevelopment = async (sql: Sql): Promise<boolean> =>
  (await sql('select from development_clock', [], 'is-development')).length > 0

/**
 * Holds `svc dev` off a database that it did not make: one that has accounts, or tables of another program. Throws Problem
 * `configuration`.
 */
export const demandDevelopment = async (sql: Sql): Promise<void> => {
  const tables = await sql<{ name: string }>(
    'select tablename as name from pg_tables where schemaname = current_schema()',
  )
  if (tables.length === 0) return
  if (tables.some(({ name }) => name === 'development_clock')) {
    if (await isDevelopment(sql)) return
    if ((await sql('select from accounts limit 1')).length === 0) return
  }
  throw new Problem('configuration', 'DATABASE_URL names a database that has data and that svc dev did not make', {
    hint: 'svc serve, or set DATABASE_URL to an empty database',
  })
}

/**
 * The clock of the database, followed until `close`; that of a development database within moments where another process
 * moves it. Keeps no process alive.
 */
export const openClock = async (database: Database): Promise<Clock> => {
  // A schema that is behind may not have the table yet: `svc db` works on those too.
  const found = await firstReading(database.sql).catch((error) => {
    if (isTableMissing(error)) return null
    throw error
  })
  if (!found) return systemClock
  let skewMs = 0
  let offsetMs = 0
  const follow = (reading: Reading) => {
    skewMs = skewAfter(reading, skewMs)
    offsetMs = reading.offsetMs ?? 0
  }
  // A look that fails leaves what is known: the next one comes, and after a lost connection the notices ask as well.
  const look = () => readClock(database.sql).then(follow, () => {})
  follow(found)
  const timer = setInterval(look, measureEveryMs).unref()
  const notices = found.offsetMs === null ? null : listen(database, channel, look)
  return {
    now: () => new Date(Date.now() + Math.round(skewMs) + offsetMs),
    systemNow: () => new Date(Date.now() + offsetMs),
    look,
    async close() {
      clearInterval(timer)
      await notices?.close()
    },
  }
}

const refused = () =>
  new Problem('forbidden', 'Only the clock of a development database moves', {
    hint: 'svc dev makes one; name its data folder with SVC_DATA_DIR',
  })

const view = `floor(extract(epoch from clock_timestamp()) * 1000)::bigint + offset_ms as now, offset_ms as "offsetMs"`

/** Throws Problem `forbidden` where the database is none for development. */
export const showClock = async (sql: Sql): Promise<ClockView> => {
  const [shown] = await sql<ClockView>(`select ${view} from development_clock`)
  if (!shown) throw refused()
  return shown
}

const change = async (sql: Sql, offset: string, params: readonly unknown[] = []): Promise<ClockView> => {
  const [moved] = await sql<ClockView & { told: string }>(
    `with moved as (update development_clock set offset_ms = ${offset} returning offset_ms)
     select ${view}, pg_notify('${channel}', '') as told from moved`,
    params,
  )
  if (!moved) throw refused()
  const { now, offsetMs } = moved
  return { now, offsetMs }
}

/** Moves the time of a development database on by `byMs`. Throws Problem `forbidden` where it is none. */
export const advanceClock = (sql: Sql, byMs: number): Promise<ClockView> => change(sql, 'offset_ms + $1', [byMs])

/** Back to the system's time. Throws Problem `forbidden` where the database is none for development. */
export const resetClock = (sql: Sql): Promise<ClockView> => change(sql, '0')
