import { z } from 'zod'
import { EventName } from '../events/shapes.ts'
import { eventTypes } from '../events/types.ts'
import { withMaxItems } from '../lib/max-items.ts'
import { text } from '../lib/text.ts'

/** Body of POST /webhooks. `event` is a shorthand for `events` with one item; both together are their union. */
export const NewWebhook = z
  .object({
    url: text(2048).meta({ format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://', description: 'Public, http or https' }),
    events: withMaxItems(z.array(EventName).min(1), 100).optional(),
    event: EventName.optional(),
    source: z.enum(['connector_a', 'connector_b']).optional(),
  })
  .refine(({ events, event }) => events || event, 'events is required')
  .meta({
    anyOf: [{ required: ['events'] }, { required: ['event'] }],
    examples: [{ url: 'https://example.com/hooks', events: ['deal.created', 'deal.stage_changed'] }],
  })

/** The changes of `svc webhooks update`: at least one property. */
export const WebhookChange = z
  .object({ url: NewWebhook.shape.url.optional(), events: NewWebhook.shape.events })
  .refine(({ url, events }) => url !== undefined || events, 'Name what changes: url or events')
export type WebhookChange = z.output<typeof WebhookChange>

const createdVias = ['dashboard', 'api', 'connector_a', 'connector_b'] as const

const EpochMs = z.int().meta({ description: 'epoch ms' })

/** WebhookSubscription (docs/reference/api.md#webhooksubscription). Properties without a value are absent; the secret is never shown. */
export const Subscription = z
  .strictObject({
    id: z.string(),
    apiKeyId: z.string().optional(),
    url: z.string().meta({ format: 'uri' }),
    events: z.array(z.enum(eventTypes)),
    createdVia: z.enum(createdVias),
    status: z.enum(['active', 'disabled']),
    disabledReason: z.enum(['gone', 'api-key-revoked']).optional(),
    createdAt: EpochMs,
    lastDeliveryAt: EpochMs.optional(),
    lastFailureAt: EpochMs.optional(),
    lastError: z.string().optional(),
  })
  .meta({ id: 'WebhookSubscription' })
export type Subscription = z.infer<typeof Subscription>

/** The only result with the secret: of creation and of rotation. */
export const NewSubscription = z.strictObject({ id: z.string(), secret: z.string(), subscription: Subscription })
export type NewSubscription = z.infer<typeof NewSubscription>
