import type pg from 'pg'
import type { Database } from './database.ts'
import { lockClasses } from './locks.ts'

/*
 * Who claims from a queue is a worker: a row in `workers`, and an advisory lock of its id on a session. What a worker has
 * claimed is its own as long as it lives: until its session ends, however it ends, or it has not been heard of for too long.
 * The others see that, and free its claims. So a process that is killed holds nothing back, and no clock but the
 * database's says how long somebody has been silent.
 */

const lockClass = lockClasses.worker
const beatMs = 2000
/** A worker whose session seems to have ended is looked at once more: it may be connecting anew. */
const graceMs = 1000
const silentAfter = `interval '20 seconds'`
/** Who has not beaten for so long does nothing until it has: it may be taken for dead any moment. */
const unsureMs = 12_000
const firstDelayMs = 100
const longestDelayMs = 5000

export interface WorkerEvents {
  /** A notice on one of the channels. */
  notice(channel: string, payload: string): void
  /** Connected, at first and whenever the connection was lost or the process stood still: notices may have been missed. */
  connected(): void
  /** Workers of the same job that are no more; called again until it gives true: nothing is theirs any more. */
  died(ids: readonly number[]): Promise<boolean>
}

/** What comes due by time, which no notice tells. */
export interface ByTime {
  /** SQL that says whether anything has: each beat asks it along. */
  isDue: string
  /** Called at each beat that finds so. */
  due(): void
}

export interface WorkerSession {
  /** null while it has none, or may have lost it: nothing may be claimed then, nor begun of what was. */
  readonly id: number | null
  /** Gives the id up: what is still claimed under it is freed by the others. */
  close(): Promise<void>
}

// A beat says that we live, asks who does not, and whether anything came due: one statement each two seconds.
const beating = (isDue: string) => `
  with me as (
    update workers set seen_at = clock_timestamp() where id = $1 returning id
  )
  select (select count(*) from me) = 1 as "isAlive", ${isDue} as "isDue", array(
    select w.id from workers w where w.job = $2 and w.id <> $1 and (
      w.seen_at < clock_timestamp() - ${silentAfter} or not exists (
        select from pg_locks l where l.locktype = 'advisory' and l.classid = ${lockClass} and l.objid = w.id and l.granted
          and l.database = (select oid from pg_database where datname = current_database())
      )
    )
  ) as missing`

/** Registers a worker of `job` and keeps its session, on a connection of its own that comes back by itself. */
export const openWorker = (
  database: Database,
  job: string,
  channels: readonly string[],
  events: WorkerEvents,
  byTime?: ByTime,
): WorkerSession => {
  const text = beating(byTime?.isDue ?? 'false')
  let id: number | null = null
  let wanted: number | null = null
  let client: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined
  let delayMs = firstDelayMs
  let suspects: readonly number[] = []
  let isClosed = false
  let beatAt = Number.NEGATIVE_INFINITY

  const isSure = () => performance.now() - beatAt < unsureMs

  const after = (ms: number, run: () => Promise<void>) => {
    if (isClosed) return
    timer = setTimeout(() => {
      working = run()
    }, ms)
  }

  const lost = () => {
    clearTimeout(timer)
    client = undefined
    id = null
    beatAt = Number.NEGATIVE_INFINITY
    after(delayMs, connect)
    delayMs = Math.min(delayMs * 2, longestDelayMs)
  }

  /** The id of before, unless its old session still holds it or the others have given it up. */
  const register = async (opened: pg.Client): Promise<void> => {
    if (wanted !== null) {
      const { rows } = await opened.query(
        'select pg_try_advisory_lock($1, $2) as locked, exists (select from workers where id = $2) as known',
        [lockClass, wanted],
      )
      if (rows[0].locked && rows[0].known) return
    }
    const { rows } = await opened.query(`select nextval('workers_id_seq')::int as id`)
    wanted = rows[0].id as number
    await opened.query('select pg_advisory_lock($1, $2)', [lockClass, wanted])
    await opened.query('insert into workers (id, job, seen_at) values ($1, $2, clock_timestamp())', [wanted, job])
  }

  const connect = async (): Promise<void> => {
    try {
      const opened = await database.connect()
      client = opened
      opened.once('end', () => client === opened && lost())
      opened.on('notification', ({ channel, payload = '' }) => events.notice(channel, payload))
      for (const channel of channels) await opened.query(`listen ${channel}`)
      await register(opened)
      delayMs = firstDelayMs
      id = wanted
      await beat()
    } catch {
      if (client) await client.end().catch(() => {})
      else lost()
    }
  }

  const beat = async (): Promise<void> => {
    const session = client
    if (!session) return
    let next = beatMs
    const sentAt = performance.now()
    try {
      const { rows } = await session.query({ name: 'beat', text, values: [wanted, job] })
      const { isAlive, isDue, missing } = rows[0] as { isAlive: boolean; isDue: boolean; missing: number[] }
      if (!isAlive) {
        // The others took us for dead and freed what we had: we begin anew.
        wanted = null
        await session.end()
        return
      }
      const wasSure = isSure()
      beatAt = sentAt
      if (!wasSure) events.connected()
      if (isDue) byTime?.due()
      const dead = missing.filter((other) => suspects.includes(other))
      suspects = missing
      if (dead.length > 0 && (await events.died(dead))) {
        await session.query('delete from workers where id = any($1)', [dead])
      }
      if (missing.length > dead.length) next = graceMs
    } catch {
      // The database is away, or what the dead had is locked: the next beat tries again.
    }
    if (client === session) after(next, beat)
  }

  let working = connect()
  return {
    get id() {
      return isSure() ? id : null
    },
    async close() {
      isClosed = true
      clearTimeout(timer)
      await working
      clearTimeout(timer)
      const session = client
      if (!session) return
      client = undefined
      await session.query('delete from workers where id = $1', [wanted]).catch(() => {})
      await session.end().catch(() => {})
    },
  }
}
