import { Problem } from '../lib/problem.ts'
import type { Database, Sql } from './database.ts'
import { listen } from './wakeup.ts'

/*
 * A development database has a time of its own: the system's plus an offset, the same for every process and thread that
 * opens it. Any other database has the system's time, and nothing there asks twice.
 */

/** The time of one database, as a process follows it. */
export interface Clock {
  now(): Date
  close(): Promise<void>
}

/** Where the clock of a database stands; times in epoch ms. */
export interface ClockView {
  now: number
  offsetMs: number
}

const channel = 'svc_clock'

const systemClock: Clock = { now: () => new Date(), close: async () => {} }

const isTableMissing = (error: unknown): boolean => (error as { code?: string }).code === '42P01'

const readOffset = async (sql: Sql): Promise<number | null> => {
  const rows = await sql<{ offsetMs: number }>('select offset_ms as "offsetMs" from development_clock')
  return rows[0]?.offsetMs ?? null
}

/** Marks the database as one for development, whose clock may be moved. */
export const markDevelopment = async (sql: Sql): Promise<void> => {
  await sql('insert into development_clock (id, offset_ms) values (1, 0) on conflict do nothing')
}

/** The clock of the database; that of a development database follows within moments where another process moves it. */
export const openClock = async (database: Database): Promise<Clock> => {
  // A schema that is behind may not have the table yet: `svc db` works on those too.
  const found = await readOffset(database.sql).catch((error) => {
    if (isTableMissing(error)) return null
    throw error
  })
  if (found === null) return systemClock
  let offsetMs = found
  const notices = listen(database, channel, () => {
    readOffset(database.sql).then(
      (read) => {
        offsetMs = read ?? 0
      },
      // The database is away: the connection that hears of changes asks again when it is back.
      () => {},
    )
  })
  return { now: () => new Date(Date.now() + offsetMs), close: notices.close }
}

const refused = () =>
  new Problem('forbidden', 'Only the clock of a development database moves', {
    hint: 'svc dev makes one; name its data folder with SVC_DATA_DIR',
  })

const view = (offsetMs: number): ClockView => ({ now: Date.now() + offsetMs, offsetMs })

/** Throws Problem `forbidden` where the database is none for development. */
export const showClock = async (sql: Sql): Promise<ClockView> => {
  const offsetMs = await readOffset(sql)
  if (offsetMs === null) throw refused()
  return view(offsetMs)
}

const change = async (sql: Sql, offset: string, params: readonly unknown[] = []): Promise<ClockView> => {
  const [row] = await sql<{ offsetMs: number }>(
    `with moved as (update development_clock set offset_ms = ${offset} returning offset_ms)
     select offset_ms as "offsetMs", pg_notify('${channel}', '') from moved`,
    params,
  )
  if (!row) throw refused()
  return view(row.offsetMs)
}

/** Moves the time of a development database on by `byMs`. Throws Problem `forbidden` where it is none. */
export const advanceClock = (sql: Sql, byMs: number): Promise<ClockView> => change(sql, 'offset_ms + $1', [byMs])

/** Back to the system's time. Throws Problem `forbidden` where the database is none for development. */
export const resetClock = (sql: Sql): Promise<ClockView> => change(sql, '0')
