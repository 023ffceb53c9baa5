import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { Problem, type ProblemKind } from '../lib/problem.ts'
import { isBusy, isUnavailable, tooBusy } from '../store/database.ts'

const statuses: Record<ProblemKind, number> = {
  invalid: 400,
  usage: 400,
  unauthorized: 401,
  forbidden: 403,
  missing: 404,
  conflict: 409,
  limited: 429,
  configuration: 500,
  unavailable: 503,
  upstream: 502,
}

/** What the framework refuses by itself, in our words. Its own would name its internals. */
const frameworkRefusals: Record<string, [status: number, sentence: string]> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [415, 'Content-Type must be application/json'],
  FST_ERR_CTP_BODY_TOO_LARGE: [413, 'body must be at most 8 MB'],
  FST_ERR_CTP_EMPTY_JSON_BODY: [400, 'body must be a JSON object'],
  FST_ERR_CTP_INVALID_JSON_BODY: [400, 'body must be valid JSON, without the keys __proto__ and constructor.prototype'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [400, 'Content-Length does not match the body'],
  FST_ERR_BAD_URL: [400, 'The URL is malformed'],
  FST_ERR_MAX_PARAM_LENGTH: [404, 'Not found'],
  FST_ERR_ASYNC_CONSTRAINT: [400, 'The request is malformed'],
}

interface Refusal {
  status: number
  sentence: string
  retryAfterSeconds?: number
}

const fault: Refusal = { status: 500, sentence: 'Something went wrong' }

/** The client went away before all of its body was here: no fault, and nobody is left to be told. */
export const isBrokenOff = (error: unknown, { raw }: FastifyRequest): boolean => raw.errored === error

const ofProblem = ({ kind, message, detail: { retryAfterSeconds } }: Problem): Refusal => ({
  status: statuses[kind],
  sentence: message,
  ...(retryAfterSeconds && { retryAfterSeconds }),
})

const refusalOf = (error: FastifyError | Problem, request: FastifyRequest): Refusal => {
  if (isBrokenOff(error, request)) return { status: 400, sentence: 'The request ended before its body did' }
  if (error instanceof Problem) {
    // What it says is for the operator: it names settings and files.
    return error.kind === 'configuration' ? fault : ofProblem(error)
  }
  const known = frameworkRefusals[error.code]
  if (known) return { status: known[0], sentence: known[1] }
  if (isBusy(error)) return ofProblem(tooBusy())
  if (isUnavailable(error)) return { status: 503, sentence: 'The service is not available' }
  if (error.statusCode === 400) return { status: 400, sentence: 'body must be valid JSON' }
  return fault
}

/** Every failure of every kind ends here: `{ error: <sentence> }` and nothing else (api.md section 7). */
export const answerError = (error: FastifyError | Problem, request: FastifyRequest, reply: FastifyReply) => {
  const refusal = refusalOf(error, request)
  if (refusal.status >= 500) request.log.error({ err: error }, 'request failed')
  // A malformed URL comes here past every hook.
  reply.header('x-request-id', request.id)
  if (refusal.retryAfterSeconds) reply.header('retry-after', String(refusal.retryAfterSeconds))
  return reply
    .code(refusal.status)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ error: refusal.sentence }))
}
