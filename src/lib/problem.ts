/** The kind decides the HTTP status (`http/errors.ts`) and the exit code of a command (`cli/run.ts`). */
export type ProblemKind =
  | 'invalid' // 400, exit 2
  | 'usage' // 400, exit 2: wrong flags or arguments of a command
  | 'unauthorized' // 401, exit 1
  | 'forbidden' // 403, exit 6
  | 'not_found' // 404, exit 3
  | 'conflict' // 409, exit 6
  | 'gone' // 410, exit 6: the account was exported to another installation
  | 'limited' // 429, exit 6
  | 'internal' // 500, exit 1: an unexpected error. HTTP hides its message
  | 'configuration' // 500, exit 4. HTTP hides its message
  | 'upstream' // 502, exit 7: a service that we call refused the request or did not answer
  | 'unavailable' // 503, exit 7

interface ProblemDetail {
  /** A next step for the terminal (`next: svc …`). HTTP never shows it. */
  hint?: string
  /** Seconds until a retry makes sense: becomes `Retry-After`. */
  retryAfterSeconds?: number
  /** It is for the operator's log only, and contains no secrets and no addresses. */
  cause?: Error
}

/** A refusal with a message for the caller (docs/reference/api.md#errors). Every other error is unexpected. */
export class Problem extends Error {
  readonly kind: ProblemKind
  readonly detail: ProblemDetail

  constructor(kind: ProblemKind, message: string, detail: ProblemDetail = {}) {
    super(message, detail.cause && { cause: detail.cause })
    this.name = 'Problem'
    this.kind = kind
    this.detail = detail
  }
}

export const invalid = (message: string, detail?: ProblemDetail) => new Problem('invalid', message, detail)
export const conflict = (message: string, detail?: ProblemDetail) => new Problem('conflict', message, detail)
export const notFound = (message: string, detail?: ProblemDetail) => new Problem('not_found', message, detail)

/** Returns the Problem for a resource that was looked up by an id or a name. */
export const noSuch = (resource: string, ref: string, detail?: ProblemDetail) =>
  notFound(`There is no ${resource} ${shown(ref) || '""'}`, detail)

/** Returns input for use in a message: cut to at most `maxLength` characters. */
export const shown = (input: string, maxLength = 100): string =>
  input.length > maxLength ? `${input.slice(0, maxLength - 1).toWellFormed()}…` : input
