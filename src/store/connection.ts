import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { Unanswered } from './faults.ts'

/*
 * A network path can go silent while its connections stay open: nothing arrives, nothing fails. So every statement has a
 * deadline on our side. Where it may take long, the server is asked, on a new connection, whether it still works on it.
 *
 * One timer per thread and database looks at all connections. Its time counts its own ticks, so a process that stood still
 * does not take its own pause for the server's silence, and a statement costs no timer.
 */

const tickMs = 500
/** A statement without progress for this long is asked about, again and again. */
const askMs = 10_000
/** A statement without progress for this long is given up where the server can't be asked. */
const unaskedMs = 30_000
/** An answer that is already on its way arrives within this time after the server says that it is done. */
const arrivalMs = 1000
/** An idle session is probed this often, and has this long to answer. */
const probeEveryMs = 10_000
const probeMs = 5_000
/** A new connection is there by then, or is given up. */
export const dialMs = 4_000
/** An unresponsive server never acknowledges the close: the socket is destroyed. */
const closeMs = 1000
/** Sessions that could not be ended on the server are tried again this often. */
const endEveryMs = 5_000

/**
 * The server's own way to notice a client that is gone, so that its locks are free within half a minute. It also stops the
 * statements of a client that died.
 */
export const serverKeepalive = {
  tcp_keepalives_idle: '10',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '3',
  client_connection_check_interval: '5s',
} as const
/** The same for an answer that nobody acknowledges; not for a COPY, whose reader may pause for as long as it likes. */
export const unreadAnswer = { tcp_user_timeout: '25s' } as const

/** A session of ours as the server sees it, found by the token in its name: behind a pooler process ids are not the server's. */
const ours = `pg_stat_activity, unnest($1::text[]) token where position(token in application_name) > 0`
const findSessions = `select token, state, wait_event as "waitsFor" from ${ours}`
const endSessions = `select pg_terminate_backend(pid) from ${ours}`

interface Session {
  token: string
  state: string | null
  waitsFor: string | null
}

export interface ConnectionOptions extends pg.ClientConfig {
  /** Each statement is answered within this time (ms), or the connection is dropped. Left out: the server is asked. */
  deadlineMs?: number
  /** Outside a pool: probed while it is idle. */
  isSession?: boolean
}

/** A connection that its watch looks after from its construction to its end. */
export class Connection extends pg.Client {
  readonly isSession: boolean
  /** In its pool, and free. */
  isIdle = false
  /** By the watch's time: what runs on it must have ended by then. */
  endsAt = Number.POSITIVE_INFINITY
  /** By the watch's time: when the statement at work last made progress. null: none is at work. */
  progressAt: number | null = null
  /** By performance.now(): when it was last used and answered. */
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
    // A drop fails the statement at work or the next one. Without a listener the event would end the process, also between the
    // pool and the next user of the connection.
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

  /** Whether bytes have passed since the last call; COPY and long results are at work for as long as they do. */
  hasMoved(): boolean {
    const bytes = this.socket.bytesRead + this.socket.bytesWritten
    const moved = bytes !== this.#bytes
    this.#bytes = bytes
    return moved
  }

  /** Its statement, and every caller that waits for the connection, fail at once. */
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

/** Watches the connections of one database; `dial` opens one more, for its questions. Holds no process open. */
export const openWatch = (dial: () => Promise<Connection>): Watch & { connections: ReadonlySet<Connection> } => {
  const connections = new Set<Connection>()
  /** Sessions that were given up, and that the server still has, with their locks. */
  const abandoned = new Set<string>()
  let now = 0
  let timer: NodeJS.Timeout | undefined
  let isAsking = false
  let nextEndAt = 0

  const giveUp = (connection: Connection): void => {
    connection.drop(new Unanswered())
    abandoned.add(connection.token)
  }

  /** Whether the server works on it, waits for a lock, or for a COPY of ours whose source is slow. */
  const isAtWork = (connection: Connection, session: Session | undefined): boolean =>
    session !== undefined &&
    !session.state?.startsWith('idle') &&
    !(session.waitsFor === 'ClientRead' && connection.socket.writableLength > 0)

  const judge = async (asking: Connection, silent: readonly Connection[]): Promise<void> => {
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
      if (silent.length > 0) await judge(asking, silent)
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
        // A statement that was sent meanwhile has its own time.
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
    if (!isAsking && (silent.length > 0 || (abandoned.size > 0 && now >= nextEndAt))) ask(silent)
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
