import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import pg from 'pg'

/** A connection attempt is given up after this long. */
export const dialMs = 4_000
/** An unresponsive server never acknowledges the close: the socket is destroyed after this time. */
const closeMs = 1000

export interface ConnectionOptions extends pg.ClientConfig {
  /** Each statement is answered within this time (ms), or the connection is dropped. Without it, the watch asks the server. */
  deadlineMs?: number
  /** A connection outside the pool, probed while it is idle. */
  isSession?: boolean
}

/** The time of the watch (connection.watch.ts): ms in which the process ran. */
export interface Clock {
  readonly now: number
}

/** A connection that notes what its watch needs to know: whether a statement runs, since when, and until when. */
export class Connection extends pg.Client {
  /** Part of the name of its session on the server, by which others find the session. */
  readonly token = randomBytes(5).toString('base64url')
  readonly isSession: boolean
  /** It is in the pool and unused. */
  isIdle = false
  /** It can't be used any more. */
  isLost = false
  /** The deadline of the current statement or call, in the clock's time. */
  endsAt = Number.POSITIVE_INFINITY
  /** When the running statement last made progress, in the clock's time. It is null while no statement runs. */
  progressAt: number | null = null
  /** When the server last answered on it, in ms of performance.now(). */
  usedAt = performance.now()
  #bytes = 0

  constructor({ deadlineMs, isSession = false, ...config }: ConnectionOptions, clock: Clock) {
    super(config)
    this.isSession = isSession
    this.#nameSession()
    this.#noteLoss()
    this.#noteStatements(clock, deadlineMs)
  }

  /** Adds the token to the name of the session. The options can't do it: a name in the URL would replace theirs. */
  #nameSession(): void {
    const { connectionParameters } = this as unknown as { connectionParameters: { application_name?: string } }
    connectionParameters.application_name = `${connectionParameters.application_name ?? ''} ${this.token}`.trim()
  }

  /**
   * A dropped connection fails its running or its next statement. Without a listener its error would end the process, also while
   * no caller uses the connection.
   */
  #noteLoss(): void {
    const lost = () => {
      this.isLost = true
    }
    this.on('error', lost)
    this.once('end', lost)
  }

  #noteStatements(clock: Clock, deadlineMs: number | undefined): void {
    const query = this.query.bind(this) as (...of: unknown[]) => unknown
    this.query = ((...of: unknown[]) => {
      this.progressAt = clock.now
      if (deadlineMs !== undefined) this.endsAt = clock.now + deadlineMs
      return query(...of)
    }) as typeof this.query
    // No statement runs, and none waits.
    this.on('drain', () => {
      this.progressAt = null
      this.usedAt = performance.now()
      // In the pool a deadline is that of a call, which may have further statements.
      if (this.isSession) this.endsAt = Number.POSITIVE_INFINITY
    })
  }

  get socket(): Socket {
    return (this as unknown as { connection: { stream: Socket } }).connection.stream
  }

  /**
   * Returns whether bytes have passed since the last call, or have arrived and are not read yet: a COPY or a long result makes progress
   * as long as they do, and the reader of a COPY may pause.
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
