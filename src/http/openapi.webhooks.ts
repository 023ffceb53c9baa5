import type { z } from 'zod'
import { eventTypes } from '../events/events.ts'
import { sampleEvent } from '../events/samples.ts'
import { eventShape } from '../events/shapes.ts'
import { idempotencyKeyHeader, signatureHeader, timestampHeader } from '../lib/signature.ts'

const header = (name: string, description: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
})

const parameters = [
  header(timestampHeader, 'Unix seconds when it was sent: reject a delivery that is more than a few minutes old'),
  header(
    signatureHeader,
    '`v1=` and the hex HMAC-SHA256 of `<timestamp>.<raw body>` under the signing secret; while an old secret still signs, a comma and its signature follow',
  ),
  header(
    idempotencyKeyHeader,
    'The `id` of the event, the same for each attempt: ignore an id that you have already processed',
  ),
]

const responses = {
  '2XX': {
    description:
      'Received. After any other status, a redirect included, or no response within 5 seconds, svc retries for about 7 hours',
  },
  410: { description: 'Gone: svc disables the subscription' },
}

const sampledAt = Date.UTC(2026, 0, 1)

/** Replaces the random ids of samples, so that the document is always the same. */
const fixedIds = <T>(json: T): T =>
  JSON.parse(JSON.stringify(json).replace(/"([a-z]{3,4})_[0-9a-z]{20,}"/g, '"$1_01kdvh9800m4x9s2q7t0e5n3c8"'))

/** Describes the deliveries to subscriptions: for each event type its schema and the sample of GET /events/sample. */
export const webhooks = (convert: (schema: z.ZodType, io: 'output') => object): Record<string, object> =>
  Object.fromEntries(
    eventTypes.map((type) => [
      type,
      {
        post: {
          operationId: `on${type.replace(/(?:^|\W|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
          summary: `${type} is delivered`,
          tags: ['Webhooks and events'],
          // Authenticated by the signature in its headers, not by a key.
          security: [],
          parameters,
          requestBody: {
            required: true,
            content: {
              'application/json': {
                schema: convert(eventShape(type), 'output'),
                example: fixedIds(sampleEvent(type, { now: sampledAt })),
              },
            },
          },
          responses,
        },
      },
    ]),
  )
