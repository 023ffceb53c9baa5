/** What can go wrong on the caller's side. `http/errors.ts` maps kinds to statuses, `cli/run.ts` to exit codes. */
export type ProblemKind =
  | 'invalid' // 400, exit 1
  | 'unauthorized' // 401
  | 'forbidden' // 403
  | 'missing' // 404, exit 3
  | 'conflict' // 409, exit 6
  | 'limited' // 429, exit 6
  | 'usage' // CLI only: exit 2
  | 'configuration' // CLI and start: exit 4
  | 'unavailable' // 503, exit 7
  | 'upstream' // 502, exit 7: a service that we call did not answer, or refused us

export interface ProblemDetail {
  /** A next step for the terminal (`next: svc …`). Never shown by HTTP. */
  hint?: string
  /** Seconds until a retry makes sense: becomes `Retry-After`. */
  retryAfterSeconds?: number
  /** What happened, for the operator's log alone: no secrets, no addresses. */
  cause?: Error
}

/** A refusal with a sentence for the caller (api.md section 7). Everything that is no Problem is a fault of ours. */
export class Problem extends Error {
  readonly kind: ProblemKind
  readonly detail: ProblemDetail

  constructor(kind: ProblemKind, sentence: string, detail: ProblemDetail = {}) {
    super(sentence, detail.cause && { cause: detail.cause })
    this.name = 'Problem'
    this.kind = kind
    this.detail = detail
  }
}

export const invalid = (sentence: string, detail?: ProblemDetail) => new Problem('invalid', sentence, detail)
export const missing = (sentence: string, detail?: ProblemDetail) => new Problem('missing', sentence, detail)
export const conflict = (sentence: string, detail?: ProblemDetail) => new Problem('conflict', sentence, detail)
