import type { Route } from './route.ts'

const header = (description: string, schema: object) => ({ description, schema })
const seconds = { type: 'integer', minimum: 0 }

/** Components for the headers of responses. */
export const headers = {
  'X-Request-Id': header('Identifies the call in the log', { type: 'string' }),
  'RateLimit-Limit': header('Calls per minute for the key and the first segment of the path', { type: 'integer' }),
  'RateLimit-Remaining': header('Calls left in this minute', { type: 'integer', minimum: 0 }),
  'RateLimit-Reset': header('Seconds until the limit resets', seconds),
  'Retry-After': header('Seconds to wait before you retry', seconds),
  'WWW-Authenticate': header('The authentication scheme of the API', { const: 'Bearer' }),
  'Idempotent-Replayed': header('`true` if this is the result of an earlier call with the same Idempotency-Key', {
    const: 'true',
  }),
}

type HeaderName = keyof typeof headers

const refs = (names: readonly HeaderName[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

const limits = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'] as const

/** Returns references to the headers of a success. */
export const headerRefs = ({ isOpen, mayReplay }: { isOpen: boolean; mayReplay: boolean }) =>
  refs(['X-Request-Id', ...(isOpen ? [] : limits), ...(mayReplay ? (['Idempotent-Replayed'] as const) : [])])

/** The last element: its headers, if they are not those of the rate limit, which only calls with a key have. */
const refusals: Record<string, [name: string, description: string, example: string, own?: readonly HeaderName[]]> = {
  400: ['Invalid', 'Malformed JSON, or a missing or invalid field; the error names it', 'email is required'],
  401: [
    'Unauthorized',
    'The key is missing, invalid, expired or revoked',
    'Missing or invalid Authorization: Bearer <apiKey>',
    ['WWW-Authenticate'],
  ],
  403: [
    'Forbidden',
    'Outside the scopes of the key, not included in the plan, or not entitled',
    'This key does not have the required scope',
  ],
  404: ['Missing', 'Not found', 'There is no such list'],
  408: ['Late', 'The request took too long to arrive', 'The request took too long to arrive', []],
  409: ['Conflict', 'Conflicts with the current state, or a limit is reached', "The plan's contact limit is reached"],
  410: ['Moved', 'The account has moved to another installation', 'The account has moved to another installation'],
  413: ['TooLarge', 'The body is too large for this route', 'body must be at most 1 MB'],
  415: ['NotJson', 'The body is not JSON, or is compressed', 'Content-Type must be application/json'],
  429: [
    'Limited',
    'The rate limit of the key is exceeded, or a monthly quota is used up',
    'Rate limit exceeded',
    [...limits, 'Retry-After'],
  ],
  502: ['Upstream', 'An upstream service did not answer', 'The payment provider did not answer', []],
  '5XX': [
    'Fault',
    'Internal error, or (503) the service is stopping or its database is unavailable; try again',
    'The service is not available: try again in a moment',
    [...limits, 'Retry-After'],
  ],
}

/** Components for the refusals, by name. */
export const responses = Object.fromEntries(
  Object.values(refusals).map(([name, description, error, own = limits]) => [
    name,
    {
      description,
      headers: refs(['X-Request-Id', ...own]),
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' }, example: { error } } },
    },
  ]),
)

/**
 * Returns a route's refusals: 410, those that it names, 400, 401, 403 and 429 if it needs a key, 429 if it writes without one, and 400,
 * 408, 413 and 415 if it takes a body.
 */
export const refusalsOf = ({ isOpen, method, body, refusals: own = [] }: Route): Record<string, object> => {
  const statuses = [
    410,
    ...own,
    ...(isOpen ? (method === 'GET' ? [] : [429]) : [400, 401, 403, 429]),
    ...(body ? [400, 408, 413, 415] : []),
    '5XX',
  ].map(String)
  return Object.fromEntries(
    [...new Set(statuses)].sort().map((status) => [status, { $ref: `#/components/responses/${refusals[status]![0]}` }]),
  )
}
