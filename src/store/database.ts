import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { Connection, type ConnectionOptions, dialMs, openWatch, serverKeepalive, unreadAnswer } from './connection.ts'
import { isReadOnly, isRetryable, Unanswered } from './faults.ts'

export {
  isBusy,
  isDuplicate,
  isSharedFailure,
  isUnavailable,
  SerializationConflict,
  tooBusy,
  unavailable,
} from './faults.ts'

/** Runs one statement with bound parameters (`$1`) and gives its rows. A name keeps its plan prepared on the connection. */
export type Sql = <Row extends object = Record<string, unknown>>(
  text: string,
  params?: readonly unknown[],
  name?: string,
) => Promise<Row[]>

export type Client = pg.PoolClient
type PoolClient = Connection & pg.PoolClient

export interface Database {
  /** Outside any transaction, on any connection of the pool. */
  sql: Sql
  /**
   * One transaction on one connection: committed when `run` resolves, rolled back when it rejects. It runs again after a
   * deadlock, and where its connection was lost, or its server was not the leader, before the commit was sent. `first` is a
   * statement without parameters that opens it in the round trip of `begin`: `run` gets its row.
   */
  transaction<T>(run: (sql: Sql, client: Client, row: object | undefined) => Promise<T>, first?: string): Promise<T>
  /**
   * A connection of its own, outside the pool, for LISTEN, session locks and long statements; probed while it is idle. With
   * `deadlineMs` each statement is answered within that time; without, it may take as long as the server works on it. One
   * that goes silent is dropped: its statement rejects, it emits `end`, and the server frees its locks.
   */
  connect(options?: { deadlineMs?: number }): Promise<pg.Client>
  /** What a pool of somebody else's (migrations) opens, so that it is watched like the others. */
  Client: typeof pg.Client
  /** Statements at work have a second to end; then their connections are cut. */
  close(): Promise<void>
}

/** A transaction that lost its connection or its leader runs again this often, after these waits (ms). */
const lossWaits = [0, 250] as const

/** A connection that was idle for longer shows that it lives before an operation with a deadline gets it. */
const freshMs = 1000
const livelinessMs = 1500
const closeMs = 1000

// int8 as a JS number: what we count stays far below 2^53.
const types = new pg.TypeOverrides()
types.setTypeParser(20, Number)

const sqlOn =
  (client: { query(config: pg.QueryConfig): Promise<pg.QueryResult> }): Sql =>
  async <Row extends object>(text: string, params: readonly unknown[] = [], name?: string) =>
    (await client.query({ text, values: params as unknown[], ...(name && { name }) })).rows as Row[]

/** Each run again follows a commit of somebody else's: more than a few are rare. */
const mostTries = 20

/** From here on a try waits before it, longer each time and no two alike: who is in the way of whom changes. */
const firstWaitTry = 4
const longestWaitMs = 200
const waitMs = (tries: number): number =>
  tries < firstWaitTry ? 0 : Math.random() * Math.min(longestWaitMs, 10 * 2 ** (tries - firstWaitTry))

/** Two statements in one message of the simple protocol are two statements: the second sees what is committed by then. */
const begin = async (client: Client, first: string | undefined): Promise<object | undefined> => {
  const results: unknown = await client.query(first ? `begin; ${first}` : 'begin')
  return first ? (results as pg.QueryResult<object>[])[1]!.rows[0] : undefined
}

interface PoolOptions {
  max?: number
  name?: string
  /**
   * Each call of `sql` and `transaction` settles within this time (ms), with its waits for a connection and its repeats; else
   * it rejects as unavailable. Left out: a statement may take as long as the server works on it.
   */
  deadlineMs?: number
  /** Settings of each connection of the pool, by their names in PostgreSQL. */
  settings?: Readonly<Record<string, string>>
}

/**
 * For who runs the statements of a queue and nothing else. What the planner believes of a queue is of a moment when it was
 * empty, or full: it gets no choice but the indexes that the statements are written for, and plans each of them once.
 */
export const queueSettings = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
} as const

/**
 * Sets in a transaction that what has an order is read along an index that has it: a planner that believes a table, or a part of it,
 * to be small would read and sort it whole.
 */
export const alongAnIndex = 'set local enable_sort = off'

/**
 * A transaction of the pool waits 5 s for a lock, and loses its connection if its process stands still for 30 s. Sessions
 * outside the pool wait for session locks on purpose.
 */
const limits = { lock_timeout: '5s', idle_in_transaction_session_timeout: '30s' } as const

/**
 * A statement that is kept prepared keeps its plan while its table grows from nothing to millions of rows, up to the next analyze:
 * one that was made for a page of rows would read all of them for each look. What has an index goes by it. (Without jit: servers
 * before 18 would compile whatever has none.) Nor does a statement start workers, which for a page of a list of millions takes
 * ten times as long as to read it: what is many at once here is callers.
 */
const steady = { enable_seqscan: 'off', jit: 'off', max_parallel_workers_per_gather: '0' } as const

const optionsOf = (settings: Readonly<Record<string, string>>): string =>
  Object.entries(settings)
    .map(([key, value]) => `-c ${key}=${value}`)
    .join(' ')

/**
 * Opens a pool on the server at `address`, which is asked for each connection: an embedded one may come back at another
 * port. Nothing is dialled before the first statement.
 */
export const openDatabase = (
  address: string | (() => string),
  { max = 10, name = 'svc', deadlineMs, settings: own = {} }: PoolOptions = {},
): Database => {
  const common: ConnectionOptions = {
    application_name: name,
    connectionTimeoutMillis: deadlineMs === undefined ? 10_000 : dialMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    options: optionsOf(serverKeepalive),
    types,
  }
  class Watched extends Connection {
    constructor(config: ConnectionOptions = {}) {
      const connectionString = typeof address === 'string' ? address : address()
      const { connectionTimeoutMillis } = common
      super({ ...config, connectionTimeoutMillis, connectionString }, watch)
    }
  }
  const dial = async (options: ConnectionOptions = {}): Promise<Connection> => {
    const client = new Watched({ ...common, ...options })
    await client.connect()
    return client
  }
  const watch = openWatch(dial)
  const pool = new pg.Pool({
    ...common,
    // The pool's limit includes the wait for a free connection.
    connectionTimeoutMillis: deadlineMs ?? common.connectionTimeoutMillis,
    options: optionsOf({ ...serverKeepalive, ...unreadAnswer, ...limits, ...steady, ...own }),
    max,
    idleTimeoutMillis: 30_000,
    Client: Watched,
  })
  pool.on('acquire', (client) => {
    ;(client as unknown as Connection).isIdle = false
  })
  pool.on('release', (error, client) => {
    Object.assign(client, { isIdle: !error, endsAt: Number.POSITIVE_INFINITY })
  })
  // The pool has already discarded an idle connection whose error it reports.
  pool.on('error', () => {})

  const now = (): number => watch.now
  const endOfCall = (): number => now() + (deadlineMs ?? Number.POSITIVE_INFINITY)
  const isFresh = ({ usedAt }: Connection): boolean => performance.now() - usedAt < freshMs

  /** Idle connections that may be like one that failed: the path is silent, or its end is not the leader any more. */
  const dropIdle = (isSuspect: (client: Connection) => boolean): void => {
    for (const client of watch.connections) if (client.isIdle && isSuspect(client)) client.drop()
  }

  const acquire = async (endsAt: number): Promise<PoolClient> => {
    // At most each pooled connection fails once; then it is a new one.
    for (let failures = 0; ; failures++) {
      const client = (await pool.connect()) as unknown as PoolClient
      try {
        if (client.isLost) throw new Unanswered()
        if (deadlineMs !== undefined && !isFresh(client)) {
          client.endsAt = Math.min(endsAt, now() + livelinessMs)
          await client.query('')
        }
        client.endsAt = endsAt
        return client
      } catch (error) {
        client.release(error as Error)
        dropIdle((other) => !isFresh(other))
        if (failures > max || now() + dialMs > endsAt) throw error
      }
    }
  }

  /** Runs `use` on a connection, which returns to the pool if it can be used again. */
  const withConnection = async <T>(endsAt: number, use: (client: PoolClient) => Promise<T>): Promise<T> => {
    const client = await acquire(endsAt)
    let broken: Error | undefined
    try {
      return await use(client)
    } catch (error) {
      if (isReadOnly(error)) dropIdle(() => true)
      if (client.isLost || isReadOnly(error)) broken = error as Error
      throw error
    } finally {
      client.release(broken)
    }
  }

  return {
    async sql(text, params, name) {
      const endsAt = endOfCall()
      for (let losses = 0; ; losses++) {
        try {
          return await withConnection(endsAt, (client) => sqlOn(client)(text, params, name))
        } catch (error) {
          // Only what certainly had no effect runs again: outside a transaction a lost answer may be that of a commit.
          if (!isReadOnly(error) || losses >= lossWaits.length || now() >= endsAt) throw error
          await sleep(lossWaits[losses])
        }
      }
    },
    async transaction(run, first) {
      const endsAt = endOfCall()
      let losses = 0
      for (let tries = 1; ; tries++) {
        let isCommitting = false
        let isLost = false
        try {
          return await withConnection(endsAt, async (client) => {
            try {
              const row = await begin(client, first)
              const result = await run(sqlOn(client), client, row)
              // On a lost connection the commit is not even sent.
              isCommitting = !client.isLost
              await client.query('commit')
              return result
            } catch (error) {
              if (!isReadOnly(error)) await client.query('rollback').catch(() => client.drop())
              isLost = client.isLost || isReadOnly(error)
              throw error
            }
          })
        } catch (error) {
          if (now() >= endsAt || tries >= mostTries) throw error
          if (isLost && !isCommitting && losses < lossWaits.length) await sleep(lossWaits[losses++])
          else if (isRetryable(error)) await sleep(waitMs(tries))
          else throw error
        }
      }
    },
    connect: ({ deadlineMs: limit } = {}) =>
      dial({
        isSession: true,
        ...(limit !== undefined && { deadlineMs: limit, options: optionsOf({ ...serverKeepalive, ...unreadAnswer }) }),
      }),
    Client: Watched,
    async close() {
      const cut = setTimeout(() => {
        for (const client of watch.connections) if (!client.isSession) client.drop()
      }, closeMs)
      await pool.end().finally(() => clearTimeout(cut))
    },
  }
}
