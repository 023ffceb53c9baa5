import type pg from 'pg'
import { lockClasses } from '../lib/locks.ts'
import { type RowOf, typed } from '../store/column-types.ts'
import { type Database, type Sql, sqlOn } from '../store/database.ts'
import { composedStatement, statement } from '../store/statement.ts'
import { holdsChannel, isHeld, type QueueName } from './holds.ts'
import type { Looks } from './looks.ts'

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
  /** What a heartbeat found by `looks`. Without an answer, each scheduler may have work. */
  found?(found: Readonly<Record<string, boolean | null>>): void
  /** The queue was paused (true) or resumed (false), as a heartbeat found it. */
  held?(isHeld: boolean): void
  /** A notice on one of the channels. */
  notice(channel: string, payload: string): void
  /** Called after each period without a heartbeat, the first connection included: notices may have been missed. */
  connected(): void
  /** Called after each heartbeat that was answered. */
  beat(): void
  /**
   * These workers of the same job are dead. It is called again at each heartbeat until it resolves with true: they own no more
   * claims.
   */
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

interface OtherWorker {
  id: number
  seenAt: string
  hasSession: boolean
}

const beatRow = {
  isAlive: 'bool',
  isDue: 'bool',
  isHeld: 'bool',
  looks: typed<Record<string, boolean | null>>('json'),
  others: typed<OtherWorker[]>('json'),
} as const

type BeatRow = RowOf<typeof beatRow>

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

/** Returns the statement of a heartbeat, which stays prepared under its name. */
const beating = (name: string, queue: QueueName, isDue: string, looks: Looks) =>
  composedStatement(
    name,
    { row: beatRow, parameters: { id: 'int4', job: 'text' } },
    `
  with me as (
    update workers set seen_at = clock_timestamp() where id = :id returning id
  )
  select (select count(*) from me) = 1 as "isAlive", ${isDue} as "isDue",
    ${isHeld(queue)} as "isHeld", ${objectOf(looks)} as looks, coalesce((
    select json_agg(json_build_object('id', w.id, 'seenAt', w.seen_at, 'hasSession', exists (select ${sessionOfWorker('w.id')})))
    from workers w where w.job = :job and w.id <> :id
  ), '[]') as others`,
  )

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
interface LeaseOf {
  job: string
  queue: QueueName
}

const byId = { id: 'int4' } as const

const tryWorkerLock = statement(
  'try-worker-lock',
  { row: { isLocked: 'bool' }, parameters: byId },
  `select pg_try_advisory_lock(${lockClass}, :id) as "isLocked"`,
)

const takeWorkerLock = statement(
  'take-worker-lock',
  { row: { pg_advisory_lock: 'void' }, parameters: byId },
  `select pg_advisory_lock(${lockClass}, :id)`,
)

const nextWorkerId = statement('next-worker-id', { row: byId }, `select nextval('workers_id_seq')::int as id`)

const findWorker = statement('find-worker', { parameters: byId }, 'select from workers where id = :id')

const insertWorker = statement(
  'insert-worker',
  { parameters: { id: 'int4', job: 'text' } },
  'insert into workers (id, job, seen_at) values (:id, :job, clock_timestamp())',
)

const endFormerSession = statement(
  'end-former-session',
  { row: { pg_terminate_backend: 'bool' }, parameters: { id: 'int4', pid: 'int4' } },
  `select pg_terminate_backend(l.pid, ${takeoverMs}) ${sessionOfWorker(':id::int')} and l.pid = :pid`,
)

const deleteWorker = statement('delete-worker', { parameters: byId }, 'delete from workers where id = :id')

const deleteDead = statement(
  'delete-dead-workers',
  { parameters: { ids: '_int4' } },
  `delete from workers w where id = any(:ids) and not exists (select ${sessionOfWorker('w.id')})`,
)

/** Whether the session got the lock of the worker with this id. */
const tryLock = async (sql: Sql, id: number): Promise<boolean> => (await sql(tryWorkerLock, { id }))[0]!.isLocked

/** Whether the worker's row exists. */
const hasRow = async (sql: Sql, id: number): Promise<boolean> => (await sql(findWorker, { id })).length > 0

/** Inserts a worker with a new id, and locks it. */
const addWorker = async (sql: Sql, job: string): Promise<number> => {
  const { id } = (await sql(nextWorkerId))[0]!
  await sql(takeWorkerLock, { id })
  await sql(insertWorker, { id, job })
  return id
}

/** A worker in the last session that it had: the server's process id of that session. */
interface Former {
  id: number
  pid: number
}

/** Ends the former session if the server still has it, and locks its worker. Returns whether it did. */
const takeOver = async (sql: Sql, { id, pid }: Former): Promise<boolean> =>
  (await sql(endFormerSession, { id, pid })).length > 0 && (await tryLock(sql, id))

/** Returns the id of the worker of a new session: the former one, unless its row is deleted or another session holds its lock. */
const register = async (sql: Sql, job: string, former: Former | null): Promise<number> => {
  if (former) {
    const isOurs = (await tryLock(sql, former.id)) || (await takeOver(sql, former))
    if (isOurs && (await hasRow(sql, former.id))) return former.id
  }
  return addWorker(sql, job)
}

/** A worker with its session, which is replaced when it is lost. */
class WorkerLease implements Lease {
  readonly #database: Database
  readonly #job: string
  readonly #channels: readonly string[]
  readonly #events: LeaseEvents
  readonly #looks: Looks
  readonly #looking: ReturnType<typeof beating>
  readonly #plain: ReturnType<typeof beating>
  readonly #observer = createObserver()
  readonly #deafen: () => void
  #client: pg.Client | undefined
  /** The id in the current session. */
  #id: number | null = null
  #former: Former | null = null
  #isHeld = false
  #isClosed = false
  #isBeating = false
  /** A notice came while a heartbeat was under way, which may have read an older state. */
  #isBeatAsked = false
  #isBurying = false
  #beatAt = Number.NEGATIVE_INFINITY
  #lookAt = Number.NEGATIVE_INFINITY
  #delayMs = firstDelayMs
  #timer: NodeJS.Timeout | undefined
  #working: Promise<void>

  constructor(database: Database, { job, queue }: LeaseOf, channels: readonly string[], events: LeaseEvents) {
    this.#database = database
    this.#job = job
    this.#channels = [holdsChannel, ...channels]
    this.#events = events
    this.#looks = events.looks ?? {}
    const isDue = events.isDue ?? 'false'
    this.#looking = beating('look', queue, isDue, this.#looks)
    this.#plain = beating('beat', queue, isDue, {})
    this.#deafen = database.notices.hear(this.#channels, ({ channel, payload }) => this.#noticed(channel, payload))
    this.#working = this.#connect()
  }

  get id(): number | null {
    return this.#isSure() ? this.#id : null
  }

  get isHeld(): boolean {
    return this.#isHeld
  }

  async close(isEmpty: (id: number) => Promise<boolean>): Promise<void> {
    this.#isClosed = true
    this.#deafen()
    clearTimeout(this.#timer)
    await this.#working
    clearTimeout(this.#timer)
    const [session, former] = [this.#client, this.#former]
    if (!session) return
    this.#client = undefined
    // From here on nothing may be claimed: the row is about to be deleted.
    this.#id = null
    try {
      if (former && (await isEmpty(former.id))) await sqlOn(session)(deleteWorker, { id: former.id })
    } catch {
      // The row stays for the next worker, which finds it dead.
    }
    await session.end().catch(() => {})
  }

  #isSure(): boolean {
    return performance.now() - this.#beatAt < unsureMs
  }

  #after(ms: number, run: () => Promise<void>): void {
    if (this.#isClosed) return
    this.#timer = setTimeout(() => {
      this.#working = run()
    }, ms)
  }

  async #connect(): Promise<void> {
    try {
      const opened = await this.#database.connect({ deadlineMs: beatDeadlineMs })
      this.#client = opened
      opened.once('end', () => this.#client === opened && this.#lost())
      await this.#setUp(opened)
      await this.#beat()
    } catch {
      if (this.#client) await this.#client.end().catch(() => {})
      else this.#lost()
    }
  }

  async #setUp(session: pg.Client): Promise<void> {
    session.on('notification', ({ channel, payload: received = '' }) => {
      const payload = this.#database.notices.fromElsewhere(received)
      if (payload !== null) this.#noticed(channel, payload)
    })
    // What heartbeats look for must be found by an index, whatever the statistics say.
    await session.query('set enable_seqscan = off')
    await session.query(`set lock_timeout = ${lookLockMs}`)
    for (const channel of this.#channels) await session.query(`listen ${channel}`)
    this.#id = await register(sqlOn(session), this.#job, this.#former)
    this.#former = { id: this.#id, pid: (session as unknown as { processID: number }).processID }
    this.#delayMs = firstDelayMs
  }

  #lost(): void {
    clearTimeout(this.#timer)
    this.#reportUnknown()
    this.#client = undefined
    this.#id = null
    this.#beatAt = Number.NEGATIVE_INFINITY
    this.#after(this.#delayMs, () => this.#connect())
    this.#delayMs = Math.min(this.#delayMs * 2, longestDelayMs)
  }

  async #beat(): Promise<void> {
    const session = this.#client
    if (!session) return
    this.#isBeating = true
    this.#isBeatAsked = false
    const isLooking = performance.now() >= this.#lookAt
    const nextMs = await this.#ask(session, isLooking).catch(() => this.#refused(isLooking))
    this.#isBeating = false
    if (this.#client === session) this.#after(this.#isBeatAsked ? 0 : nextMs, () => this.#beat())
  }

  /** Makes a heartbeat, and follows its answer. Returns the ms until the next one. */
  async #ask(session: pg.Client, isLooking: boolean): Promise<number> {
    const sentAt = performance.now()
    const { id } = this.#former!
    const answer = (await sqlOn(session)(isLooking ? this.#looking : this.#plain, { id, job: this.#job }))[0]!
    if (!answer.isAlive) {
      // Other workers declared this one dead and freed its claims: it starts again under a new id.
      this.#former = null
      await session.end()
      return beatMs
    }
    this.#confirm(sentAt, answer)
    const { dead, suspects } = this.#observer.look(answer.others)
    if (dead.length > 0) void this.#bury(session, dead)
    return suspects ? graceMs : beatMs
  }

  /** Notes that the worker was alive at a time, and reports what the heartbeat found. */
  #confirm(sentAt: number, { isDue, isHeld, looks }: BeatRow): void {
    const [wasSure, wasHeld] = [this.#isSure(), this.#isHeld]
    this.#beatAt = sentAt
    this.#isHeld = isHeld
    if (isHeld !== wasHeld) this.#events.held?.(isHeld)
    if (!wasSure) this.#events.connected()
    if (isDue) this.#events.due?.()
    this.#report(looks)
    this.#events.beat()
  }

  /**
   * A heartbeat was not answered: the connection is lost, or the server refused. The end of the connection, or the next heartbeat, tries
   * again. A table of another feature, such as one that is being rewritten, must not end the lease: the next heartbeat does not look.
   * Returns the ms until then.
   */
  #refused(wasLooking: boolean): number {
    if (!wasLooking || Object.keys(this.#looks).length === 0) return beatMs
    this.#lookAt = performance.now() + noLookMs
    this.#reportUnknown()
    return 0
  }

  #report(found: Readonly<Record<string, boolean | null>>): void {
    if (Object.keys(found).length > 0) this.#events.found?.(found)
  }

  /** Until the next answer, the schedulers look for their work themselves. */
  #reportUnknown(): void {
    this.#report(Object.fromEntries(Object.keys(this.#looks).map((scheduler) => [scheduler, true])))
  }

  #noticed(channel: string, payload: string): void {
    if (channel !== holdsChannel) this.#events.notice(channel, payload)
    else if (this.#isBeating) this.#isBeatAsked = true
    else if (this.#client && this.#id !== null) {
      clearTimeout(this.#timer)
      this.#after(0, () => this.#beat())
    }
  }

  /** Has the claims of dead workers freed, and deletes their rows. */
  async #bury(session: pg.Client, dead: readonly number[]): Promise<void> {
    if (this.#isBurying) return
    this.#isBurying = true
    try {
      if (await this.#events.died(dead)) await sqlOn(session)(deleteDead, { ids: [...dead] })
    } catch {
      // The database is unavailable: the next heartbeat tries again.
    } finally {
      this.#isBurying = false
    }
  }
}

/** Registers a worker of `job` and keeps its session, on a connection of its own that is replaced when it is lost. */
export const openLease = (database: Database, of: LeaseOf, channels: readonly string[], events: LeaseEvents): Lease =>
  new WorkerLease(database, of, channels, events)
