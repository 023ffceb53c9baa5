import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock, Connection } from './connection.ts'
import { Unanswered } from './faults.ts'

/*
 * A network path can go silent while its connections stay open: nothing arrives, nothing fails. The watch of a database finds such
 * connections and drops them. Twice a second it looks at each connection:
 *
 * | the connection                                  | what the watch does |
 * |-------------------------------------------------|---------------------|
 * | is past its deadline                            | drops it |
 * | is outside the pool, and was unused for 10 s    | probes it with an empty statement, which has 5 s |
 * | is in the pool, and unused                      | nothing: the pool probes it before its next use (database.ts) |
 * | runs a statement, and bytes have moved          | notes the progress |
 * | runs a statement, without progress for 10 s     | asks the server on a new connection, and drops it if the server does not work on the statement |
 * | … for 30 s, and the server can't be asked       | drops it |
 *
 * To drop a connection is to close its socket: its statement fails at once. The server may still have the session, with its locks.
 * The watch asks it to end such sessions every 5 s until it has answered.
 *
 * The watch's time counts its ticks: a process that was suspended does not mistake its own pause for the server's silence. Statements
 * need no timers of their own.
 */

const tickMs = 500
const askMs = 10_000
const unaskedMs = 30_000
/** An answer that is already on its way arrives within this time after the server says that it is done. */
const arrivalMs = 1000
const probeEveryMs = 10_000
const probeMs = 5_000
const endEveryMs = 5_000

/** Finds sessions of this process by the token in their names: behind a pooler the process ids are not the server's. */
const ours = `pg_stat_activity, unnest($1::text[]) token where position(token in application_name) > 0`
const findSessions = `select token, state, wait_event as "waitsFor" from ${ours}`
const endSessions = `select pg_terminate_backend(pid) from ${ours}`

interface Session {
  token: string
  state: string | null
  waitsFor: string | null
}

/** Returns whether the server works on the connection's statement, waits for a lock, or waits for a COPY whose source is slow. */
const isAtWork = ({ socket }: Connection, session: Session | undefined): boolean =>
  session !== undefined &&
  !session.state?.startsWith('idle') &&
  !(session.waitsFor === 'ClientRead' && socket.writableLength > 0)

/** Asks the server, on the connection `asking`, about statements without progress. Returns the connections with those that it does not work on. */
const withoutWork = async (asking: Connection, silent: readonly Connection[]): Promise<Connection[]> => {
  const { rows } = await asking.query<Session>(findSessions, [silent.map(({ token }) => token)])
  const sessions = new Map(rows.map((session) => [session.token, session]))
  return silent.filter((one) => !isAtWork(one, sessions.get(one.token)))
}

interface Watch extends Clock {
  readonly connections: ReadonlySet<Connection>
  /** Watches a connection until its end. */
  add(connection: Connection): void
}

/** Opens the watch of a database. `dial` opens a connection on which the watch asks the server. The watch does not keep the process alive. */
export const openWatch = (dial: () => Promise<Connection>): Watch => {
  const connections = new Set<Connection>()
  /** When the server was last asked about the statement of a connection. */
  const askedAt = new WeakMap<Connection, number>()
  /** Tokens of dropped sessions that the server may still have. */
  const abandoned = new Set<string>()
  let now = 0
  let timer: NodeJS.Timeout | undefined
  let isAsking = false
  let nextEndAt = 0

  const drop = (connection: Connection): void => {
    connection.drop(new Unanswered())
    abandoned.add(connection.token)
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

  const probeUnused = (session: Connection): void => {
    if (performance.now() - session.usedAt >= probeEveryMs) probe(session)
  }

  /** Returns for how long the running statement has made no progress, or 0 if none runs. */
  const silenceOf = ({ progressAt }: Connection): number => (progressAt === null ? 0 : now - progressAt)

  const noteProgress = (connection: Connection): void => {
    if (connection.progressAt !== null && connection.hasMoved()) connection.progressAt = now
  }

  const shouldAsk = (connection: Connection): boolean =>
    !connection.isLost && silenceOf(connection) >= askMs && now - (askedAt.get(connection) ?? -askMs) >= askMs

  const check = (connection: Connection): void => {
    if (connection.endsAt <= now) drop(connection)
    else if (connection.progressAt !== null) noteProgress(connection)
    else if (connection.isSession) probeUnused(connection)
  }

  const dropWithoutWork = async (asking: Connection, silent: readonly Connection[]): Promise<void> => {
    const suspects = await withoutWork(asking, silent)
    if (suspects.length === 0) return
    await sleep(arrivalMs)
    for (const one of suspects) {
      noteProgress(one)
      if (silenceOf(one) >= askMs) drop(one)
    }
  }

  const endAbandoned = async (asking: Connection): Promise<void> => {
    const tokens = [...abandoned]
    if (tokens.length > 0) await asking.query(endSessions, [tokens])
    for (const token of tokens) abandoned.delete(token)
  }

  const ask = async (silent: readonly Connection[]): Promise<void> => {
    isAsking = true
    nextEndAt = now + endEveryMs
    for (const one of silent) askedAt.set(one, now)
    let asking: Connection | undefined
    try {
      asking = await dial()
      asking.endsAt = now + probeMs
      if (silent.length > 0) await dropWithoutWork(asking, silent)
      await endAbandoned(asking)
    } catch {
      for (const one of silent) if (silenceOf(one) >= unaskedMs) drop(one)
    }
    isAsking = false
    asking?.end().catch(() => {})
  }

  const tick = (): void => {
    now += tickMs
    const present = [...connections].filter(({ isLost }) => !isLost)
    for (const connection of present) check(connection)
    if (isAsking) return
    const silent = present.filter(shouldAsk)
    if (silent.length > 0 || (abandoned.size > 0 && now >= nextEndAt)) void ask(silent)
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
