import type { z } from 'zod'
import { sampleEvent } from '../events/samples.ts'
import { eventShape } from '../events/shapes.ts'
import { eventTypes } from '../events/types.ts'
import { idempotencyKeyHeader, signatureHeader, timestampHeader } from '../lib/signature.ts'

const header = (name: string, description: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
})

const parameters = [
  header(timestampHeader, 'Unix seconds of the posting: refuse what is more than a few minutes old'),
  header(signatureHeader, '`v1=` and the hex HMAC-SHA256 of `<timestamp>.<raw body>` under the signing secret'),
  header(idempotencyKeyHeader, 'The `id` of the event, the same each time that it is delivered: drop what came before'),
]

const responses = {
  '2XX': {
    description: 'Taken. Everything else, a redirect too, and no answer in 5 seconds: it is tried again for hours',
  },
  410: { description: 'Gone: the subscription is disabled' },
}

const sampledAt = Date.UTC(2026, 0, 1)

/** The document is the same each time that it is made, though each sample has ids of its own. */
const steadyIds = <T>(json: T): T =>
  JSON.parse(JSON.stringify(json).replace(/"([a-z]{3,4})_[0-9a-z]{20,}"/g, '"$1_01kdvh9800m4x9s2q7t0e5n3c8"'))

/** What is posted to subscriptions: each type with its shape and the sample of GET /events/sample. */
export const webhooks = (convert: (schema: z.ZodType, io: 'output') => object): Record<string, object> =>
  Object.fromEntries(
    eventTypes.map((type) => [
      type,
      {
        post: {
          summary: `A delivery of ${type}`,
          tags: ['deliveries'],
          parameters,
          requestBody: {
            required: true,
            content: {
              'application/json': {
                schema: convert(eventShape(type), 'output'),
                example: steadyIds(sampleEvent(type, { now: sampledAt })),
              },
            },
          },
          responses,
        },
      },
    ]),
  )
