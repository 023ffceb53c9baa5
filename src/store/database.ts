import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { deadlineSettings, optionOf, poolSettings, type Settings, sessionSettings } from './connection.settings.ts'
import { Connection, type ConnectionOptions, dialMs } from './connection.ts'
import { openWatch } from './connection.watch.ts'
import { isDiskFull, isReadOnly, isRetryable, Unanswered } from './faults.ts'
import { type Notices, openNotices } from './notices.ts'
import { type Statement, statement, valuesOf } from './statement.ts'

export {
  isBusy,
  isDuplicate,
  isSharedFailure,
  isUnavailable,
  SerializationConflict,
  tooBusy,
  unavailable,
} from './faults.ts'

/** The values of a call. Those of a text without parameters can be left out. */
type Arguments<Values extends object> = Values extends readonly unknown[] ? [values?: Values] : [values: Values]

/** Runs one statement with the values of its parameters and returns its rows. Text numbers its parameters (`$1`). */
export type Sql = <Row extends object = Record<string, unknown>, Values extends object = readonly unknown[]>(
  query: string | Statement<Row, Values>,
  ...values: Arguments<NoInfer<Values>>
) => Promise<Row[]>

export type Client = pg.PoolClient
type PoolClient = Connection & pg.PoolClient

export interface Database {
  /** Runs a statement outside any transaction, on any connection of the pool. */
  sql: Sql
  /**
   * Runs a transaction on one connection: commits it when `run` resolves, and rolls it back when `run` rejects. Runs it again
   * after a deadlock, and after a lost connection or a demoted leader if the commit was not sent yet. `first` is a statement
   * without parameters that runs in the round trip of `begin`; `run` receives its row.
   */
  transaction<T>(run: (sql: Sql, client: Client, row: object | undefined) => Promise<T>, first?: string): Promise<T>
  /**
   * Opens a connection outside the pool, for LISTEN, session locks and long statements; it is probed while it is idle. With
   * `deadlineMs` each statement is answered within that time; otherwise it may take as long as the server works on it. A
   * connection that goes silent is dropped: its statement rejects, it emits `end`, and the server frees its locks.
   */
  connect(options?: { deadlineMs?: number }): Promise<pg.Client>
  /**
   * Rejects while the server's disk is full: from the first statement of this pool that failed because of it until the server can
   * write a megabyte again. With `isSuspected` it tries that without such a statement.
   */
  requireSpace(isSuspected?: boolean): Promise<void>
  /** Sends notices to the jobs of all processes, after commits. */
  readonly notices: Notices
  /** The connection class for another library's pool (migrations), so that its connections are watched too. */
  Client: typeof pg.Client
  /** Closes the pool. Running statements have a second to end; then their connections are closed. */
  close(): Promise<void>
}

/** Waits (ms) before each repetition of a transaction that lost its connection or its leader. */
const lossWaits = [0, 250] as const

/** A connection that was idle for longer is probed before an operation with a deadline gets it. The probe may take `probeMs`. */
const freshMs = 1000
const probeMs = 1500
const closeMs = 1000
/** A notice that is not sent within this time is dropped. */
const noticeMs = 5000

// int8 as a JS number: what we count stays far below 2^53.
const types = new pg.TypeOverrides()
types.setTypeParser(20, Number)

export const sqlOn =
  (client: { query(config: pg.QueryConfig): Promise<pg.QueryResult> }): Sql =>
  async <Row extends object>(query: string | Statement<Row, object>, ...[values]: [values?: object]) => {
    const { text, name } = typeof query === 'string' ? { text: query } : query.isPrepared ? query : { text: query.text }
    return (await client.query({ text, name, values: valuesOf(query, values) })).rows as Row[]
  }

/** Each repetition follows a commit of another transaction: more than a few are rare. */
const mostTries = 20

/** From this try on each try is preceded by a wait, growing and random, so that conflicting transactions get out of step. */
const firstWaitTry = 4
const longestWaitMs = 200
const waitMs = (tries: number): number =>
  tries < firstWaitTry ? 0 : Math.random() * Math.min(longestWaitMs, 10 * 2 ** (tries - firstWaitTry))

/** The simple protocol runs both statements of one message in turn: the second has a snapshot of its own. */
const begin = async (client: Client, first: string | undefined): Promise<object | undefined> => {
  const results: unknown = await client.query(first ? `begin; ${first}` : 'begin')
  return first ? (results as pg.QueryResult<object>[])[1]!.rows[0] : undefined
}

/** The server writes the pages of a temporary table without a commit, and removes them. */
const writeMegabyte = statement(
  'write-a-megabyte',
  {},
  `create temporary table space on commit drop as select repeat(md5(n::text), 30) as text from generate_series(1, 1100) as n`,
)

interface PoolOptions {
  max?: number
  name?: string
  /**
   * Each call of `sql` and `transaction` has this time (ms), including waits for a connection and repetitions. Then it rejects as
   * unavailable. Without it, a statement may take as long as the server works on it.
   */
  deadlineMs?: number
  /** Further settings of each connection of the pool. */
  settings?: Settings
  /** Notices get a connection of their own, so that they do not wait for a free one of a busy pool. */
  hasNoticeConnection?: boolean
}

/**
 * Makes ordered queries of a transaction read along an index that has the order. A planner that expects few rows would read and sort
 * all of them.
 */
export const forceIndexOrder = 'set local enable_sort = off'

/**
 * Opens a pool on the server at `address`. A function is called for each connection, because an embedded server may come back at
 * another port. The pool opens its first connection for the first statement.
 */
export const openDatabase = (
  address: string | (() => string),
  { max = 10, name = 'svc', deadlineMs, settings: own = {}, hasNoticeConnection = false }: PoolOptions = {},
): Database => {
  const common: ConnectionOptions = {
    application_name: name,
    connectionTimeoutMillis: deadlineMs === undefined ? 10_000 : dialMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    options: optionOf(sessionSettings),
    types,
  }
  const currentAddress = typeof address === 'string' ? () => address : address
  class Watched extends Connection {
    constructor(config: ConnectionOptions = {}) {
      const connectionString = currentAddress()
      const connectionTimeoutMillis = Math.min(
        common.connectionTimeoutMillis!,
        config.deadlineMs ?? Number.POSITIVE_INFINITY,
      )
      super({ ...config, connectionTimeoutMillis, connectionString }, watch)
      watch.add(this)
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
    options: optionOf({ ...poolSettings, ...own }),
    max,
    // By its last connection, `readProcesses` finds a process that has nothing to do.
    min: 1,
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

  let isFull = false
  const now = (): number => watch.now
  const endOfCall = (): number => now() + (deadlineMs ?? Number.POSITIVE_INFINITY)
  const isFresh = ({ usedAt }: Connection): boolean => performance.now() - usedAt < freshMs

  /** Drops idle connections that will probably fail: their path is silent, or their server no longer leads. */
  const dropIdle = (isSuspect: (client: Connection) => boolean): void => {
    for (const client of watch.connections) if (client.isIdle && isSuspect(client)) client.drop()
  }

  const acquire = async (endsAt: number): Promise<PoolClient> => {
    // Each pooled connection fails at most once; after that the pool opens a new one.
    for (let failures = 0; ; failures++) {
      const client = (await pool.connect()) as unknown as PoolClient
      try {
        if (client.isLost) throw new Unanswered()
        if (deadlineMs !== undefined && !isFresh(client)) {
          client.endsAt = Math.min(endsAt, now() + probeMs)
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
    const acquiredAt = performance.now()
    let broken: Error | undefined
    try {
      return await use(client)
    } catch (error) {
      if (isDiskFull(error)) isFull = true
      if (isReadOnly(error)) dropIdle(() => true)
      // Other connections that went silent with this one would each delay a statement as long.
      if (client.isLost) dropIdle(({ usedAt }) => usedAt < acquiredAt)
      if (client.isLost || isReadOnly(error)) broken = error as Error
      throw error
    } finally {
      client.release(broken)
    }
  }

  const sql: Sql = async (query, ...values) => {
    const endsAt = endOfCall()
    for (let losses = 0; ; losses++) {
      try {
        return await withConnection(endsAt, (client) => sqlOn(client)(query, ...values))
      } catch (error) {
        // Only a statement that certainly had no effect runs again. Without a transaction a lost answer may mean a commit.
        if (!isReadOnly(error) || losses >= lossWaits.length || now() >= endsAt) throw error
        await sleep(lossWaits[losses])
      }
    }
  }

  let noticeConnection: Promise<Connection> | undefined
  const sendNotices: Sql = async (query, ...values) => {
    noticeConnection ??= dial({ isSession: true, deadlineMs: noticeMs })
    try {
      const client = await noticeConnection
      return await sqlOn(client)(query, ...values)
    } catch (error) {
      noticeConnection?.then((client) => client.end()).catch(() => {})
      noticeConnection = undefined
      throw error
    }
  }
  const notices = openNotices(currentAddress(), hasNoticeConnection ? sendNotices : sql)

  const transaction: Database['transaction'] = async (run, first) => {
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
            // The commit is not sent on a lost connection.
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
  }

  return {
    sql,
    notices,
    async requireSpace(isSuspected = isFull) {
      if (!isSuspected) return
      await transaction((run) => run(writeMegabyte))
      isFull = false
    },
    transaction,
    connect: ({ deadlineMs: limit } = {}) =>
      dial({
        isSession: true,
        ...(limit !== undefined && { deadlineMs: limit, options: optionOf(deadlineSettings) }),
      }),
    Client: Watched,
    async close() {
      await notices.close()
      await noticeConnection?.then((client) => client.end()).catch(() => {})
      const cut = setTimeout(() => {
        for (const client of watch.connections) if (!client.isSession) client.drop()
      }, closeMs)
      await pool.end().finally(() => clearTimeout(cut))
    },
  }
}
