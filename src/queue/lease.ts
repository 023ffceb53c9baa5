import type pg from 'pg'
import { lockClasses } from '../lib/locks.ts'
import type { Database, Sql } from '../store/database.ts'
import { statement } from '../store/statement.ts'
import { holdsChannel, isHeld, type QueueName } from './holds.ts'
import { type Looks, reportLooks } from './looks.ts'

/*
 * A worker owns its claims as long as it is alive. It is a row in `workers`, an advisory lock of its id held by a session of its
 * own, and a heartbeat in that row. Other workers of the same job free the claims of a dead worker (docs/queues.md#rules).
 */

const lockClass = lockClasses.worker
const beatMs = 2000
/** A statement of the session without an answer for this long is a lost connection. */
const beatDeadlineMs = 5000
/** The session of a worker that reconnects is missing for a moment: the observer checks again after this long. */
const graceMs = 1000
/** An unchanged heartbeat means death after this long, as the observer measures it with its own clock. */
const silenceMs = 20_000
/** A silent worker that still has its session is reported again after this long. */
const silentAgainMs = 10_000
/** A worker without a heartbeat for this long starts nothing: others may declare it dead at any moment. */
const unsureMs = 12_000
const firstDelayMs = 100
const longestDelayMs = 5000
/** A heartbeat waits at most this long for a lock on what it looks for; those of this time afterwards do not look. */
const lookLockMs = 1000
const noLookMs = 30_000
/** How long a new session waits for the end of the old one, which the server still holds. */
const takeoverMs = 2000

export interface LeaseEvents {
  /** A boolean SQL expression, evaluated with each heartbeat: has an item become due by time, which no notice announces? */
  isDue?: string | undefined
  due?(): void
  /** Evaluated with each heartbeat, for the schedulers of this process. */
  looks?: Looks | undefined
  /** The queue was paused (true) or resumed (false), as a heartbeat found it. */
  held?(isHeld: boolean): void
  /** A notice on one of the channels. */
  notice(channel: string, payload: string): void
  /** Called after each period without a heartbeat, the first connection included: notices may have been missed. */
  connected(): void
  /** Called after each heartbeat that was answered. */
  beat(): void
  /** These workers of the same job are dead. Called again at each heartbeat until it resolves with true: they own no more claims. */
  died(ids: readonly number[]): Promise<boolean>
}

interface Lease {
  /** The worker's id. It is null without a confirmed session. Then nothing may be claimed, and no claim may be started. */
  readonly id: number | null
  /** Whether the queue is paused, as the last heartbeat found it. Until the first one there is no id. */
  readonly isHeld: boolean
  /** Ends the session. Deletes the row if `isEmpty` resolves to true (no claims); otherwise the worker that frees the claims does. */
  close(isEmpty: (id: number) => Promise<boolean>): Promise<void>
}

interface BeatRow {
  isAlive: boolean
  isDue: boolean
  isHeld: boolean
  looks: Record<string, boolean | null>
  others: OtherWorker[]
}

interface OtherWorker {
  id: number
  seenAt: string
  hasSession: boolean
}

/** Returns SQL for the rest of a query after `select`: the session that holds the lock of the worker with this id. */
export const sessionOfWorker = (id: string) => `
  from pg_locks l where l.locktype = 'advisory' and l.classid = ${lockClass} and l.objid = ${id} and l.granted
    and l.database = (select oid from pg_database where datname = current_database())`

const findWorkers = statement(
  'find-workers-of-job',
  { row: { isRunning: 'bool' }, parameters: { job: 'text' } },
  `select exists (select from workers w where w.job = :job and exists (select ${sessionOfWorker('w.id')})) as "isRunning"`,
)

/** Returns whether a process runs the job now, that is, whether the session of one of its workers is open. */
export const isRunning = async (sql: Sql, job: string): Promise<boolean> =>
  (await sql(findWorkers, { job }))[0]!.isRunning

/** Returns SQL for an object with the value of each expression. Each is a subquery, so one without a row is null. */
const objectOf = (looks: Looks): string =>
  `json_build_object(${Object.entries(looks)
    .map(([scheduler, hasWork]) => `'${scheduler}', (${hasWork})`)
    .join(', ')})`

const beating = (queue: QueueName, isDue: string, looks: Looks) => `
  with me as (
    update workers set seen_at = clock_timestamp() where id = $1 returning id
  )
  select (select count(*) from me) = 1 as "isAlive", ${isDue} as "isDue",
    ${isHeld(queue)} as "isHeld", ${objectOf(looks)} as looks, coalesce((
    select json_agg(json_build_object('id', w.id, 'seenAt', w.seen_at, 'hasSession', exists (select ${sessionOfWorker('w.id')})))
    from workers w where w.job = $2 and w.id <> $1
  ), '[]') as others`

/**
 * Watches the other workers of a job. A worker is dead if two checks in a row find no session, or if its heartbeat has not
 * changed for `silenceMs`. Only time in which the observer itself was running counts, so no worker is declared dead because
 * this machine was suspended or the database's clock jumped.
 */
const createObserver = () => {
  const known = new Map<number, { seenAt: string; silentMs: number; missed: number }>()
  let lookedAt = performance.now()
  return {
    /** Returns the ids of dead workers, and whether to check again soon. */
    look(others: readonly OtherWorker[]): { dead: number[]; suspects: boolean } {
      const elapsedMs = Math.min(performance.now() - lookedAt, 2 * beatMs)
      lookedAt = performance.now()
      const present = new Set(others.map(({ id }) => id))
      for (const id of known.keys()) if (!present.has(id)) known.delete(id)
      const dead: number[] = []
      let suspects = false
      for (const { id, seenAt, hasSession } of others) {
        const before = known.get(id)
        const silentMs = before?.seenAt === seenAt ? before.silentMs + elapsedMs : 0
        const missed = hasSession ? 0 : (before?.missed ?? 0) + 1
        const isSilent = silentMs >= silenceMs
        known.set(id, { seenAt, silentMs: isSilent ? silenceMs - silentAgainMs : silentMs, missed })
        if (missed >= 2 || isSilent) dead.push(id)
        else if (missed > 0) suspects = true
      }
      return { dead, suspects }
    },
  }
}

/** The job under which a worker registers, and its queue. */
export interface LeaseOf {
  job: string
  queue: QueueName
}

/** Registers a worker of `job` and keeps its session, on a connection of its own that is replaced when it is lost. */
export const openLease = (
  database: Database,
  { job, queue }: LeaseOf,
  channels: readonly string[],
  events: LeaseEvents,
): Lease => {
  const { looks = {} } = events
  const textWith = (those: Looks) => beating(queue, events.isDue ?? 'false', those)
  const [looking, plain] = [
    { name: 'look', text: textWith(looks) },
    { name: 'beat', text: textWith({}) },
  ]
  const observer = createObserver()
  let id: number | null = null
  let wanted: number | null = null
  let client: pg.Client | undefined
  /** The server's process id of the session before this one. */
  let formerPid: number | null = null
  let timer: NodeJS.Timeout | undefined
  let delayMs = firstDelayMs
  let isClosed = false
  let isPaused = false
  let isBeating = false
  /** A notice came while a heartbeat was under way, which may have read an older state. */
  let isBeatAsked = false
  let beatAt = Number.NEGATIVE_INFINITY
  let lookAt = Number.NEGATIVE_INFINITY

  const isSure = () => performance.now() - beatAt < unsureMs

  const after = (ms: number, run: () => Promise<void>) => {
    if (isClosed) return
    timer = setTimeout(() => {
      working = run()
    }, ms)
  }

  const reportFound = (found: Record<string, boolean | null>) => {
    if (Object.keys(found).length > 0) reportLooks({ database }, found)
  }

  /** Until the next answer, the schedulers look for their work themselves. */
  const reportUnknown = () => reportFound(Object.fromEntries(Object.keys(looks).map((scheduler) => [scheduler, true])))

  const lost = () => {
    clearTimeout(timer)
    reportUnknown()
    client = undefined
    id = null
    beatAt = Number.NEGATIVE_INFINITY
    after(delayMs, connect)
    delayMs = Math.min(delayMs * 2, longestDelayMs)
  }

  const tryLock = async (opened: pg.Client): Promise<boolean> => {
    const { rows } = await opened.query('select pg_try_advisory_lock($1, $2) as locked', [lockClass, wanted])
    return rows[0].locked
  }

  /** Ends the session of the former connection if the server still has it, so that the worker keeps its id and its claims. */
  const takeOver = async (opened: pg.Client): Promise<boolean> => {
    const ending = `select pg_terminate_backend(l.pid, ${takeoverMs}) ${sessionOfWorker('$1')} and l.pid = $2`
    const { rows } = await opened.query(ending, [wanted, formerPid])
    return rows.length > 0 && (await tryLock(opened))
  }

  /** Keeps the former id, unless its row is deleted or another session holds its lock. */
  const register = async (opened: pg.Client): Promise<void> => {
    if (wanted !== null) {
      const isOurs = (await tryLock(opened)) || (formerPid !== null && (await takeOver(opened)))
      const { rows } = await opened.query('select from workers where id = $1', [wanted])
      if (isOurs && rows.length > 0) return
    }
    const { rows } = await opened.query(`select nextval('workers_id_seq')::int as id`)
    wanted = rows[0].id as number
    await opened.query('select pg_advisory_lock($1, $2)', [lockClass, wanted])
    await opened.query('insert into workers (id, job, seen_at) values ($1, $2, clock_timestamp())', [wanted, job])
  }

  const setUp = async (opened: pg.Client): Promise<void> => {
    // What heartbeats look for must be found by an index, whatever the statistics say.
    await opened.query('set enable_seqscan = off')
    await opened.query(`set lock_timeout = ${lookLockMs}`)
    for (const channel of [holdsChannel, ...channels]) await opened.query(`listen ${channel}`)
    await register(opened)
  }

  const connect = async (): Promise<void> => {
    try {
      const opened = await database.connect({ deadlineMs: beatDeadlineMs })
      client = opened
      opened.once('end', () => client === opened && lost())
      opened.on('notification', ({ channel, payload: received = '' }) => {
        const payload = database.notices.fromElsewhere(received)
        if (payload !== null) noticed(channel, payload)
      })
      await setUp(opened)
      formerPid = (opened as unknown as { processID: number }).processID
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
    isBeating = true
    isBeatAsked = false
    const sentAt = performance.now()
    const isLooking = sentAt >= lookAt
    try {
      const { rows } = await session.query({ ...(isLooking ? looking : plain), values: [wanted, job] })
      const { isAlive, isDue, ...found } = rows[0] as BeatRow
      if (!isAlive) {
        // Other workers declared this one dead and freed its claims: it starts again under a new id.
        wanted = null
        isBeating = false
        await session.end()
        return
      }
      const wasSure = isSure()
      const wasPaused = isPaused
      isPaused = found.isHeld
      beatAt = sentAt
      if (isPaused !== wasPaused) events.held?.(isPaused)
      if (!wasSure) events.connected()
      if (isDue) events.due?.()
      reportFound(found.looks)
      events.beat()
      const { dead, suspects } = observer.look(found.others)
      if (suspects) next = graceMs
      if (dead.length > 0) void bury(session, dead)
    } catch {
      // The connection is lost, or the server refused: its end, or the next heartbeat, tries again. A table of another feature, such as
      // one that is being rewritten, must not end the lease: the next heartbeat does not look.
      if (isLooking && Object.keys(looks).length > 0) {
        lookAt = performance.now() + noLookMs
        next = 0
        reportUnknown()
      }
    }
    isBeating = false
    if (client === session) after(isBeatAsked ? 0 : next, beat)
  }

  const noticed = (channel: string, payload: string) => {
    if (channel !== holdsChannel) return events.notice(channel, payload)
    if (isBeating) isBeatAsked = true
    else if (client && id !== null) {
      clearTimeout(timer)
      after(0, beat)
    }
  }

  let isBurying = false
  const bury = async (session: pg.Client, dead: readonly number[]) => {
    if (isBurying) return
    isBurying = true
    try {
      if (await events.died(dead)) {
        const deleting = `delete from workers w where id = any($1) and not exists (select ${sessionOfWorker('w.id')})`
        await session.query(deleting, [dead])
      }
    } catch {
      // The database is unavailable: the next heartbeat tries again.
    } finally {
      isBurying = false
    }
  }

  const deafen = database.notices.hear(({ channel, payload }) => {
    if (channel === holdsChannel || channels.includes(channel)) noticed(channel, payload)
  })
  let working = connect()
  return {
    get id() {
      return isSure() ? id : null
    },
    get isHeld() {
      return isPaused
    },
    async close(isEmpty) {
      isClosed = true
      deafen()
      clearTimeout(timer)
      await working
      clearTimeout(timer)
      const session = client
      if (!session) return
      client = undefined
      // From here on nothing may be claimed: the row is about to be deleted.
      id = null
      try {
        if (await isEmpty(wanted!)) await session.query('delete from workers where id = $1', [wanted])
      } catch {
        // The row stays for the next worker, which finds it dead.
      }
      await session.end().catch(() => {})
    },
  }
}
