import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { Unanswered } from './faults.ts'

/*
 * A network path can go silent while its connections stay open: nothing arrives, nothing fails. So every statement has a
 * deadline on the client. For a statement that may take long, the watch asks the server on a new connection whether it still
 * works on it.
 *
 * One timer for each thread and database checks all connections. Its time counts its own ticks: a process that was suspended
 * does not mistake its own pause for the server's silence, and statements need no timers of their own.
 */

const tickMs = 500
/** After this long without progress of a statement, the watch asks the server about it, and repeats that at this interval. */
const askMs = 10_000
/** A statement without progress for this long is given up if the server can't be asked. */
const unaskedMs = 30_000
/** An answer that is already on its way arrives within this time after the server says that it is done. */
const arrivalMs = 1000
/** An idle session is probed at this interval, and has `probeMs` to answer. */
const probeEveryMs = 10_000
const probeMs = 5_000
/** A connection attempt is given up after this long. */
export const dialMs = 4_000
/** An unresponsive server never acknowledges the close: the socket is destroyed. */
const closeMs = 1000
/** Sessions that could not be ended on the server are tried again at this interval. */
const endEveryMs = 5_000

/**
 * Lets the server notice a client that is gone, so that its locks are free within half a minute. It also stops the statements of
 * a client that died.
 */
export const serverKeepalive = {
  tcp_keepalives_idle: '10',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '3',
  client_connection_check_interval: '5s',
} as const
/** The same for an answer that the client does not acknowledge. Not for COPY: its reader may pause without a limit. */
export const unreadAnswer = { tcp_user_timeout: '25s' } as const

/** Finds sessions of this process by the token in their names: behind a pooler the process ids are not the server's. */
const ours = `pg_stat_activity, unnest($1::text[]) token where position(token in application_name) > 0`
const findSessions = `select token, state, wait_event as "waitsFor" from ${ours}`
const endSessions = `select pg_terminate_backend(pid) from ${ours}`

interface Session {
  token: string
  state: string | null
  waitsFor: string | null
}

export interface ConnectionOptions extends pg.ClientConfig {
  /** Each statement is answered within this time (ms), or the connection is dropped. Without it, the watch asks the server. */
  deadlineMs?: number
  /** A connection outside the pool, probed while it is idle. */
  isSession?: boolean
}

/** A connection that its watch checks from its construction to its end. */
export class Connection extends pg.Client {
  readonly isSession: boolean
  /** It is in the pool and unused. */
  isIdle = false
  /** In the watch's time: the deadline of the current statement or call. */
  endsAt = Number.POSITIVE_INFINITY
  /** In the watch's time: when the running statement last made progress. It is null while no statement runs. */
  progressAt: number | null = null
  /** In ms of performance.now(): when the server last answered on it. */
  usedAt = performance.now()
  isLost = false
  readonly token = randomBytes(5).toString('base64url')
  askedAt = Number.NEGATIVE_INFINITY
  #bytes = 0

  constructor({ deadlineMs, isSession = false, ...config }: ConnectionOptions, watch: Watch) {
    super(config)
    this.isSession = isSession
    // Set here because a name in the URL would replace one in the options.
    const { connectionParameters } = this as unknown as { connectionParameters: { application_name?: string } }
    connectionParameters.application_name = `${connectionParameters.application_name ?? ''} ${this.token}`.trim()
    // A dropped connection fails its running or its next statement. Without a listener the event would end the process, also
    // while no caller uses the connection.
    this.on('error', () => {
      this.isLost = true
    })
    this.once('end', () => {
      this.isLost = true
    })
    const query = this.query.bind(this) as (...of: unknown[]) => unknown
    this.query = ((...of: unknown[]) => {
      this.progressAt = watch.now
      if (deadlineMs !== undefined) this.endsAt = watch.now + deadlineMs
      return query(...of)
    }) as typeof this.query
    this.on('drain', () => {
      this.progressAt = null
      this.usedAt = performance.now()
      if (isSession) this.endsAt = Number.POSITIVE_INFINITY
    })
    watch.add(this)
  }

  get socket(): Socket {
    return (this as unknown as { connection: { stream: Socket } }).connection.stream
  }

  /**
   * Whether bytes have passed since the last call, or have arrived and are not read yet: a COPY or a long result makes progress as long
   * as they do, and the reader of a COPY may pause.
   */
  hasMoved(): boolean {
    const bytes = this.socket.bytesRead + this.socket.bytesWritten
    const moved = bytes !== this.#bytes
    this.#bytes = bytes
    return moved || this.socket.readableLength > 0
  }

  /** Closes the socket: the running statement, and every caller that waits for the connection, fail at once. */
  drop(error?: Error): void {
    this.isLost = true
    this.socket.destroy(error)
  }

  override end(): Promise<void>
  override end(callback: (error: Error) => void): void
  override end(callback?: (error: Error) => void): Promise<void> | void {
    const cut = setTimeout(() => this.socket.destroy(), closeMs).unref()
    this.once('end', () => clearTimeout(cut))
    return callback ? super.end(callback) : super.end()
  }
}

export interface Watch {
  /** Counts ms while the process runs. */
  readonly now: number
  add(connection: Connection): void
}

/** Watches the connections of one database. `dial` opens another one, for questions to the server. Does not keep the process alive. */
export const openWatch = (dial: () => Promise<Connection>): Watch & { connections: ReadonlySet<Connection> } => {
  const connections = new Set<Connection>()
  /** Tokens of sessions that were given up, and that the server may still have, with their locks. */
  const abandoned = new Set<string>()
  let now = 0
  let timer: NodeJS.Timeout | undefined
  let isAsking = false
  let nextEndAt = 0

  const giveUp = (connection: Connection): void => {
    connection.drop(new Unanswered())
    abandoned.add(connection.token)
  }

  /** Whether the server works on the statement, waits for a lock, or waits for a COPY whose source is slow. */
  const isAtWork = (connection: Connection, session: Session | undefined): boolean =>
    session !== undefined &&
    !session.state?.startsWith('idle') &&
    !(session.waitsFor === 'ClientRead' && connection.socket.writableLength > 0)

  const giveUpUnknown = async (asking: Connection, silent: readonly Connection[]): Promise<void> => {
    const { rows } = await asking.query<Session>(findSessions, [silent.map(({ token }) => token)])
    const suspects = silent.filter(
      (one) =>
        !isAtWork(
          one,
          rows.find(({ token }) => token === one.token),
        ),
    )
    if (suspects.length === 0) return
    await sleep(arrivalMs)
    for (const one of suspects) if (one.progressAt !== null && !one.hasMoved()) giveUp(one)
  }

  const ask = async (silent: readonly Connection[]): Promise<void> => {
    isAsking = true
    nextEndAt = now + endEveryMs
    for (const one of silent) one.askedAt = now
    let asking: Connection | undefined
    try {
      asking = await dial()
      asking.endsAt = now + probeMs
      if (silent.length > 0) await giveUpUnknown(asking, silent)
      const tokens = [...abandoned]
      if (tokens.length > 0) await asking.query(endSessions, [tokens])
      for (const token of tokens) abandoned.delete(token)
    } catch {
      for (const one of silent) if (one.progressAt !== null && now - one.progressAt >= unaskedMs) giveUp(one)
    }
    isAsking = false
    asking?.end().catch(() => {})
  }

  const probe = (connection: Connection): void => {
    const endsAt = now + probeMs
    connection.query('').then(
      () => {
        // A statement that was sent meanwhile has a deadline of its own.
        if (connection.endsAt === endsAt) connection.endsAt = Number.POSITIVE_INFINITY
      },
      () => {},
    )
    connection.endsAt = endsAt
  }

  const tick = (): void => {
    now += tickMs
    const silent: Connection[] = []
    for (const one of connections) {
      if (one.isLost) continue
      if (one.endsAt <= now) giveUp(one)
      else if (one.progressAt === null) {
        if (one.isSession && performance.now() - one.usedAt >= probeEveryMs) probe(one)
      } else if (one.hasMoved()) one.progressAt = now
      else if (now - one.progressAt >= askMs && now - one.askedAt >= askMs) silent.push(one)
    }
    if (!isAsking && (silent.length > 0 || (abandoned.size > 0 && now >= nextEndAt))) void ask(silent)
  }

  return {
    get now() {
      return now
    },
    connections,
    add(connection) {
      connections.add(connection)
      timer ??= setInterval(tick, tickMs).unref()
      connection.once('end', () => {
        connections.delete(connection)
        if (connections.size > 0 || abandoned.size > 0) return
        clearInterval(timer)
        timer = undefined
      })
    },
  }
}
