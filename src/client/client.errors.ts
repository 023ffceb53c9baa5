/** What the statuses of docs/reference/api.md#errors mean for a caller. */
export type ErrorKind =
  | 'invalid'
  | 'unauthorized'
  | 'forbidden'
  | 'missing'
  | 'conflict'
  | 'limited'
  | 'unavailable'
  | 'fault'

const kinds: Readonly<Record<number, ErrorKind>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'missing',
  409: 'conflict',
  429: 'limited',
  502: 'unavailable',
  503: 'unavailable',
  504: 'unavailable',
}

const kindOf = (status: number): ErrorKind => kinds[status] ?? (status >= 400 && status < 500 ? 'invalid' : 'fault')

/** The call of an error: its path is the route's, `/deals/{id}`, without ids and tokens. */
export interface FailedCall {
  readonly method: string
  readonly path: string
  /** How often the call was made. */
  readonly attempts: number
}

interface Refusal {
  status: number
  sentence: string
  requestId: string | null
  retryAfterSeconds: number | null
}

/** The server refused the call. The message is its sentence. */
export class ApiError extends Error implements FailedCall {
  override readonly name = 'ApiError'
  readonly status: number
  readonly kind: ErrorKind
  /** Identifies the call in the log of the server. */
  readonly requestId: string | null
  /** When the server will take such a call again. */
  readonly retryAfterSeconds: number | null
  readonly method: string
  readonly path: string
  readonly attempts: number

  constructor({ status, sentence, requestId, retryAfterSeconds }: Refusal, { method, path, attempts }: FailedCall) {
    super(sentence)
    this.status = status
    this.kind = kindOf(status)
    this.requestId = requestId
    this.retryAfterSeconds = retryAfterSeconds
    this.method = method
    this.path = path
    this.attempts = attempts
  }
}

/** No answer arrived, or one that is not from svc. Whether the call took effect is unknown. */
export class NoAnswerError extends Error implements FailedCall {
  override readonly name = 'NoAnswerError'
  readonly isTimeout: boolean
  readonly method: string
  readonly path: string
  readonly attempts: number

  constructor(reason: string, isTimeout: boolean, { method, path, attempts }: FailedCall) {
    super(`${method} ${path}: ${reason}`)
    this.isTimeout = isTimeout
    this.method = method
    this.path = path
    this.attempts = attempts
  }
}
