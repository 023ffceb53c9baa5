import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import pg from 'pg'

/** Time limit for opening a connection. */
export const dialMs = 4_000
/** Time limit for closing one: a server that does not respond never acknowledges the close. */
const closeMs = 1000

export interface ConnectionOptions extends pg.ClientConfig {
  /**
   * Time limit (ms) for each statement, after which the connection is dropped. Without it, a statement may take as long as the server
   * works on it.
   */
  deadlineMs?: number
  /** The connection is outside the pool, and probed while it is idle. */
  isSession?: boolean
}

/** The clock of the watch (connection.watch.ts), in ms. It stands still while the process is suspended. */
export interface Clock {
  readonly now: number
}

/** A connection that records what its watch reads: whether a statement runs, when it last made progress, and its deadline. */
export class Connection extends pg.Client {
  /** It is part of the name of the session on the server, so that the watch finds the session from another connection. */
  readonly token = randomBytes(5).toString('base64url')
  readonly isSession: boolean
  /** Whether it is in the pool and unused. */
  isIdle = false
  /** Whether it is closed or broken. */
  isLost = false
  /** The deadline of the current statement or call, in the clock's time. */
  endsAt = Number.POSITIVE_INFINITY
  /** When the running statement last made progress, in the clock's time. It is null while no statement runs. */
  progressAt: number | null = null
  /** When the server last answered on it, in ms of `performance.now()`. */
  usedAt = performance.now()
  /** The number of bytes that had passed at the last call of `hasMoved`. */
  #bytes = 0

  constructor({ deadlineMs, isSession = false, ...config }: ConnectionOptions, clock: Clock) {
    super(config)
    this.isSession = isSession
    this.#nameSession()
    this.#recordLoss()
    this.#recordStatements(clock, deadlineMs)
  }

  /** Adds the token to the name of the session. `ConnectionOptions` can't do it, because a name in the URL would replace it. */
  #nameSession(): void {
    const { connectionParameters } = this as unknown as { connectionParameters: { application_name?: string } }
    connectionParameters.application_name = `${connectionParameters.application_name ?? ''} ${this.token}`.trim()
  }

  /** Without a listener, the error of a connection that no caller uses would end the process. */
  #recordLoss(): void {
    const lost = () => {
      this.isLost = true
    }
    this.on('error', lost)
    this.once('end', lost)
  }

  #recordStatements(clock: Clock, deadlineMs: number | undefined): void {
    const query = this.query.bind(this) as (...args: unknown[]) => unknown
    this.query = ((...args: unknown[]) => {
      this.progressAt = clock.now
      if (deadlineMs !== undefined) this.endsAt = clock.now + deadlineMs
      return query(...args)
    }) as typeof this.query
    // pg emits it when no statement runs or waits.
    this.on('drain', () => {
      this.progressAt = null
      this.usedAt = performance.now()
      // The deadline of a connection in the pool is that of a whole call, which may run more statements.
      if (this.isSession) this.endsAt = Number.POSITIVE_INFINITY
    })
  }

  get socket(): Socket {
    return (this as unknown as { connection: { stream: Socket } }).connection.stream
  }

  /**
   * Returns whether bytes have passed since the last call, as they do during a COPY or a long result. Bytes that have arrived and were
   * not read yet count too, because the reader of a COPY may pause.
   */
  hasMoved(): boolean {
    const bytes = this.socket.bytesRead + this.socket.bytesWritten
    const moved = bytes !== this.#bytes
    this.#bytes = bytes
    return moved || this.socket.readableLength > 0
  }

  /** Closes the socket, so that the running statement and every caller that waits for the connection fail at once. */
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
