import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { Problem } from '../lib/problem.ts'

/** Runs one statement with bound parameters (`$1`) and gives its rows. A name keeps its plan prepared on the connection. */
export type Sql = <Row extends object = Record<string, unknown>>(
  text: string,
  params?: readonly unknown[],
  name?: string,
) => Promise<Row[]>

export type Client = pg.PoolClient

export interface Database {
  /** Outside any transaction, on any connection of the pool. */
  sql: Sql
  /**
   * One transaction on one connection: committed when `run` resolves, rolled back when it rejects. `first` is a statement
   * without parameters that opens it in the round trip of `begin`: `run` gets its row.
   */
  transaction<T>(run: (sql: Sql, client: Client, row: object | undefined) => Promise<T>, first?: string): Promise<T>
  /** A connection of its own, outside the pool: for LISTEN and for session locks. */
  connect(): Promise<pg.Client>
  /** What is under way has a second to end; then its connections are cut. */
  close(): Promise<void>
}

const closeMs = 1000

// int8 as a JS number: what we count stays far below 2^53.
const types = new pg.TypeOverrides()
types.setTypeParser(20, Number)

const sqlOn =
  (client: { query(config: pg.QueryConfig): Promise<pg.QueryResult> }): Sql =>
  async <Row extends object>(text: string, params: readonly unknown[] = [], name?: string) =>
    (await client.query({ text, values: params as unknown[], ...(name && { name }) })).rows as Row[]

/** Deadlock and serialization failure: running the whole transaction again is the cure. */
const isRetryable = (error: unknown): boolean =>
  ['40P01', '40001'].includes((error as { code?: string } | null)?.code ?? '')

/**
 * Class 08 (connection), 57P0x (shutdown, starting up) and refused sockets: the database is away, and may come back. So is
 * what waited too long for a lock (55P03), was idle for too long in a transaction (25P03), or had to begin again too often.
 */
export const isUnavailable = (error: unknown): boolean => {
  const { code = '', message = '' } = error as { code?: string; message?: string }
  return (
    /^(08|57P0|53300|55P03|25P03)/.test(code) ||
    isRetryable(error) ||
    ['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'ENOENT', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN'].includes(code) ||
    /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error/.test(
      message,
    )
  )
}

/** A unique index has the row already: of two writers at the same moment this is the second. */
export const isDuplicate = (error: unknown): boolean => (error as { code?: string }).code === '23505'

/** What a transaction has read is no longer true: it rolls back and runs again, as for PostgreSQL's own code 40001. */
export class SerializationConflict extends Error {
  readonly code = '40001'
}

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
 * No wait of a pool's connection is endless: who can't have a lock gives up, and a process that stands still in a transaction
 * loses it. Connections outside the pool wait for session locks on purpose.
 */
const limits = { lock_timeout: '5s', idle_in_transaction_session_timeout: '30s' } as const

/**
 * A statement that is kept prepared keeps its plan while its table grows from nothing to millions of rows, up to the next analyze:
 * one that was made for a page of rows would read all of them for each look. What has an index goes by it. (Without jit: servers
 * before 18 would compile whatever has none.) Nor does a statement start workers, which for a page of a list of millions takes
 * ten times as long as to read it: what is many at once here is callers.
 */
const steady = { enable_seqscan: 'off', jit: 'off', max_parallel_workers_per_gather: '0' } as const

/**
 * Opens a pool on the server at `address`, which is asked for each connection: an embedded one may come back at another
 * port. Nothing is dialled before the first statement.
 */
export const openDatabase = (
  address: string | (() => string),
  { max = 10, name = 'svc', settings: own = {} }: PoolOptions = {},
): Database => {
  const addressed = (config: pg.ClientConfig = {}): pg.ClientConfig => ({
    ...config,
    connectionString: typeof address === 'string' ? address : address(),
  })
  class Connection extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super(addressed(config))
      // A drop fails the statement at work, or the next one. Without a listener of its own it would be fatal: one that comes
      // with the answer that frees the connection finds it between the pool and who takes it.
      this.on('error', () => {})
    }
  }
  const settings = {
    application_name: name,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    types,
  }
  const options = Object.entries({ ...limits, ...steady, ...own })
    .map(([key, value]) => `-c ${key}=${value}`)
    .join(' ')
  const pool = new pg.Pool({ ...settings, options, max, idleTimeoutMillis: 30_000, Client: Connection })
  const connections = new Set<pg.PoolClient>()
  pool.on('connect', (client) => connections.add(client))
  pool.on('remove', (client) => connections.delete(client))
  // A connection dropped by the server is reported here when idle; the pool has already discarded it.
  pool.on('error', () => {})
  const attempt = async <T>(
    run: (sql: Sql, client: Client, row: object | undefined) => Promise<T>,
    first?: string,
  ): Promise<T> => {
    const client = await pool.connect()
    let broken: Error | undefined
    try {
      const row = await begin(client, first)
      const result = await run(sqlOn(client), client, row)
      await client.query('commit')
      return result
    } catch (error) {
      await client.query('rollback').catch((fault: Error) => {
        broken = fault
      })
      throw error
    } finally {
      client.release(broken)
    }
  }
  return {
    sql: sqlOn(pool),
    async transaction(run, first) {
      for (let tries = 1; ; tries++) {
        try {
          return await attempt(run, first)
        } catch (error) {
          if (tries >= mostTries || !isRetryable(error)) throw error
          await sleep(waitMs(tries))
        }
      }
    },
    async connect() {
      const client = new Connection(settings)
      await client.connect()
      return client
    },
    async close() {
      const cut = setTimeout(() => {
        for (const client of connections) (client as unknown as pg.Client).end().catch(() => {})
      }, closeMs)
      await pool.end().finally(() => clearTimeout(cut))
    },
  }
}

/** Another transaction holds a lock for too long, or was first again and again: the same may succeed later. */
export const isBusy = (error: unknown): boolean =>
  isRetryable(error) || (error as { code?: string } | null)?.code === '55P03'

/** The refusal of a caller whose lock or turn did not come in time, or whose transaction conflicted too often (exit 7, HTTP 503). */
export const tooBusy = () => new Problem('unavailable', 'The database is too busy: try again', { retryAfterSeconds: 2 })

/** What users are told of an error that is `isUnavailable`, or where the database does not answer (exit 7, HTTP 503). */
export const unavailable = (error: unknown = null) =>
  isBusy(error) ? tooBusy() : new Problem('unavailable', 'The database is not available')
