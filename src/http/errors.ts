import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { Problem, type ProblemKind } from '../lib/problem.ts'
import { isBusy, isUnavailable, tooBusy } from '../store/database.ts'
import { bodyLimitOf, sizeText } from './bodies.limits.ts'
import { codedBody } from './bodies.parse.ts'
import { timeoutCode } from './bodies.ts'

const statuses: Record<ProblemKind, number> = {
  invalid: 400,
  usage: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  gone: 410,
  limited: 429,
  configuration: 500,
  unavailable: 503,
  internal: 500,
  upstream: 502,
}

/** Messages for requests that the framework refuses. Its own messages name its internals. */
const frameworkRefusals: Record<string, [status: number, sentence: string]> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [415, 'Content-Type must be application/json'],
  [codedBody]: [415, 'Content-Encoding is not supported: send the body uncompressed'],
  [timeoutCode]: [408, 'The request took too long to arrive'],
  FST_ERR_CTP_EMPTY_JSON_BODY: [400, 'body must be a JSON object'],
  FST_ERR_CTP_INVALID_JSON_BODY: [400, 'body must be valid JSON'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [400, 'Content-Length does not match the body'],
  FST_ERR_BAD_URL: [400, 'The URL is malformed'],
  FST_ERR_ASYNC_CONSTRAINT: [400, 'The request is malformed'],
}

interface Refusal {
  status: number
  sentence: string
  retryAfterSeconds?: number
}

const internalError: Refusal = { status: 500, sentence: 'Something went wrong' }

/** Whether the client closed the connection before it had sent the whole body. This is not an error of the server. */
export const isAborted = (error: unknown, { raw }: FastifyRequest): boolean => raw.errored === error

const refusalOfProblem = ({ kind, message, detail: { retryAfterSeconds } }: Problem): Refusal => ({
  status: statuses[kind],
  sentence: message,
  ...(retryAfterSeconds && { retryAfterSeconds }),
})

const refusalOf = (error: FastifyError | Problem, request: FastifyRequest): Refusal => {
  if (isAborted(error, request)) return { status: 400, sentence: 'The request ended before its body did' }
  if (error instanceof Problem) {
    // Their messages are for the operator: they name settings and files.
    return error.kind === 'configuration' || error.kind === 'internal' ? internalError : refusalOfProblem(error)
  }
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return {
      status: 413,
      sentence: `body must be at most ${sizeText((error as { limit?: number }).limit ?? bodyLimitOf(request))}`,
    }
  }
  const known = frameworkRefusals[error.code]
  if (known) return { status: known[0], sentence: known[1] }
  if (isBusy(error)) return refusalOfProblem(tooBusy())
  if (isUnavailable(error)) return { status: 503, sentence: 'The service is not available: try again in a moment' }
  if (error.statusCode === 400) return { status: 400, sentence: 'body must be valid JSON' }
  return internalError
}

/** `Retry-After` of a 503 that names no time of its own. */
export const unavailableSeconds = '5'

/** Answers every failed request with `{ error: <sentence> }` and nothing else (docs/reference/api.md#errors). */
export const answerError = (error: FastifyError | Problem, request: FastifyRequest, reply: FastifyReply) => {
  const refusal = refusalOf(error, request)
  // Anyone can cause any number of refusals because of load. Their request lines in the log are enough.
  const isForLoad = error instanceof Problem && refusal.retryAfterSeconds
  if (refusal.status >= 500 && !isForLoad) request.log.error({ err: error }, 'request failed')
  // No hook ran for a malformed URL.
  reply.header('x-request-id', request.id)
  if (refusal.status === 401) reply.header('www-authenticate', 'Bearer')
  if (refusal.retryAfterSeconds) reply.header('retry-after', String(refusal.retryAfterSeconds))
  else if (refusal.status === 503) reply.header('retry-after', unavailableSeconds)
  return reply
    .code(refusal.status)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ error: refusal.sentence }))
}
