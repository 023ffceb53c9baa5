import { Problem } from '../lib/problem.ts'

const codeOf = (error: unknown): string => (error as { code?: string } | null)?.code ?? ''

/** Whether the error is a deadlock or a serialization failure: the whole transaction can run again. */
export const isRetryable = (error: unknown): boolean => ['40P01', '40001'].includes(codeOf(error))

/** What the transaction has read is outdated: it rolls back and runs again, as for PostgreSQL's own code 40001. */
export class SerializationConflict extends Error {
  readonly code = '40001'
}

/** The server did not answer in time; the connection is dropped. Whether the statement took effect is unknown. */
export class Unanswered extends Error {
  readonly code = 'ETIMEDOUT'
  constructor() {
    super('The database did not answer in time')
  }
}

/** Whether the server accepts no writes: a standby, a demoted leader, or read-only by its settings. The statement had no effect. */
export const isReadOnly = (error: unknown): boolean => codeOf(error) === '25006'

/**
 * SQLSTATEs of a server that refuses the user or the password (28), or has no such database (3D), and of a pooler that refuses the
 * connection (08P01).
 */
const refusals = /^(28|3D|08P01)/

/**
 * SQLSTATEs of a server that can't serve for the moment: connection failures (08), out of resources (53: connections, memory, disk),
 * shutdown, start and recovery (57P0x, 58030), not the leader (25006), functions that a standby refuses (55000), a lock wait
 * (55P03), a pause in a transaction (25P03), a statement (57014) or a transaction (25P04) that took too long by the limits of the
 * role or the database.
 */
const unavailableStates = /^(08|53|57014|57P0|58030|25006|25P03|25P04|55000|55P03)/

const socketErrors = [
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH'],
  ...['ENETDOWN', 'ENOENT', 'ENOTFOUND', 'EAI_AGAIN'],
]

/** Whether the server could not write because its disk is full. */
export const isDiskFull = (error: unknown): boolean => codeOf(error) === '53100'

/** Messages of errors of pg and its pool that have no code. */
const driverMessages =
  /Connection terminated|timeout exceeded when trying to connect|timeout expired|Client has encountered a connection error|Client was closed and is not queryable|Cannot use a pool after calling end/

/** The database is away, not the leader or too busy: the same call may succeed later. Exit 7, HTTP 503. */
export const isUnavailable = (error: unknown): boolean =>
  unavailableStates.test(codeOf(error)) ||
  refusals.test(codeOf(error)) ||
  isRetryable(error) ||
  socketErrors.includes(codeOf(error)) ||
  driverMessages.test((error as { message?: string } | null)?.message ?? '')

/**
 * Returns whether a transaction that calls share failed for a reason that concerns all of them, not for the input of one call.
 */
export const isSharedFailure = (error: unknown): boolean =>
  isUnavailable(error) || (error instanceof Problem && error.kind === 'unavailable')

/** Whether a unique index already has the row: another transaction inserted it first. */
export const isDuplicate = (error: unknown): boolean => codeOf(error) === '23505'

/** Whether another transaction held a lock for too long, or caused repeated conflicts: the same call may succeed later. */
export const isBusy = (error: unknown): boolean => isRetryable(error) || codeOf(error) === '55P03'

/** Returns the Problem of a caller that waited too long for a lock, or whose transaction conflicted too often (exit 7, HTTP 503). */
export const tooBusy = () => new Problem('unavailable', 'The database is too busy: try again', { retryAfterSeconds: 2 })

/** Returns the Problem that users see for an error that `isUnavailable`, or for a database that does not answer (exit 7, HTTP 503). */
export const unavailable = (error: unknown = null): Problem => {
  if (isBusy(error)) return tooBusy()
  const reason = refusals.test(codeOf(error)) ? `: ${(error as Error).message}` : ''
  return new Problem('unavailable', `The database is not available${reason}`)
}
