import type { Route } from './route.ts'

const header = (description: string, schema: object) => ({ description, schema })
const seconds = { type: 'integer', minimum: 0 }

/** The headers of answers, as components. */
export const headers = {
  'X-Request-Id': header('Names the call in the log', { type: 'string' }),
  'RateLimit-Limit': header('Calls a minute for the key and the first part of the path', { type: 'integer' }),
  'RateLimit-Remaining': header('Calls that are left of them', { type: 'integer', minimum: 0 }),
  'RateLimit-Reset': header('Seconds until the next minute begins', seconds),
  'Retry-After': header('Seconds until a retry makes sense', seconds),
  'Idempotent-Replayed': header('`true`: answered by the first call with the Idempotency-Key', { const: 'true' }),
}

type HeaderName = keyof typeof headers

const refs = (names: readonly HeaderName[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

const limits = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'] as const

/** Of a success. */
export const headerRefs = ({ isOpen, mayReplay }: { isOpen: boolean; mayReplay: boolean }) =>
  refs(['X-Request-Id', ...(isOpen ? [] : limits), ...(mayReplay ? (['Idempotent-Replayed'] as const) : [])])

const refusals: Record<string, [name: string, description: string, example: string, more?: readonly HeaderName[]]> = {
  400: ['Invalid', 'Malformed JSON, or a missing or invalid field, which is named', 'email is required'],
  401: ['Unauthorized', 'A missing, invalid or revoked key', 'Missing or invalid Authorization: Bearer <apiKey>'],
  403: ['Forbidden', 'Not in the plan, or not entitled', "The Embed API isn't included in your plan"],
  404: ['Missing', 'It is not there, or is not of this account', 'There is no such list'],
  409: ['Conflict', 'At odds with what is stored, or a limit is reached', "The plan's contact limit is reached"],
  413: ['TooLarge', 'A body of over 8 MB', 'body must be at most 8 MB'],
  415: ['NotJson', 'A body that is no JSON', 'Content-Type must be application/json'],
  429: [
    'Limited',
    'The rate limit of the key is exceeded, or a monthly quota used up',
    'Rate limit exceeded',
    [...limits, 'Retry-After'],
  ],
  502: ['Upstream', 'A service that this one needs did not answer', 'The payment provider did not answer'],
  '5XX': [
    'Fault',
    'An internal error; or (503) the service is stopping, or its database is away or too busy: try again',
    'The service is not available',
    ['Retry-After'],
  ],
}

/** The refusals, as components by their names. */
export const responses = Object.fromEntries(
  Object.values(refusals).map(([name, description, error, more = []]) => [
    name,
    {
      description,
      headers: refs(['X-Request-Id', ...more]),
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' }, example: { error } } },
    },
  ]),
)

/** Every keyed route can answer 400, 401 and 429, one with a body 413 and 415; the others are those that the route names. */
export const refusalsOf = ({ isOpen, body, refusals: own = [] }: Route): Record<string, object> => {
  const statuses = [...own, ...(isOpen ? [] : [400, 401, 429]), ...(body ? [400, 413, 415] : []), '5XX'].map(String)
  return Object.fromEntries(
    [...new Set(statuses)].sort().map((status) => [status, { $ref: `#/components/responses/${refusals[status]![0]}` }]),
  )
}
