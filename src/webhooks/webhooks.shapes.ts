import { z } from 'zod'
import { EventName } from '../events/shapes.ts'
import { eventTypes } from '../events/types.ts'
import { text } from '../lib/text.ts'

/** Body of POST /webhooks. `event` is a shorthand for `events` with one item; both together are their union. */
export const NewWebhook = z
  .object({
    url: text(2048).meta({ format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://', description: 'Public, http or https' }),
    events: z.array(EventName).min(1).optional(),
    event: EventName.optional(),
    source: z.enum(['connector_a', 'connector_b']).optional(),
  })
  .refine(({ events, event }) => events || event, 'events is required')
  .meta({
    anyOf: [{ required: ['events'] }, { required: ['event'] }],
    examples: [{ url: 'https://example.com/hooks', events: ['deal.created', 'deal.stage_changed'] }],
  })

export const createdVias = ['dashboard', 'api', 'connector_a', 'connector_b'] as const

const EpochMs = z.int().meta({ description: 'epoch ms' })

/** WebhookSubscription (api.md section 2): optional properties are absent, and the secret is never one of them. */
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

/** What is shown once, when the secret is new. */
export const NewSubscription = z.strictObject({ id: z.string(), secret: z.string(), subscription: Subscription })
export type NewSubscription = z.infer<typeof NewSubscription>

/** A subscription with its target, as it stands in the database. */
export type WebhookRow = Omit<Subscription, 'apiKeyId' | 'disabledReason' | 'lastError' | `${string}At`> & {
  apiKeyId: string | null
  disabledReason: Subscription['disabledReason'] | null
  createdAt: Date
  lastDeliveryAt: Date | null
  lastFailureAt: Date | null
  lastError: string | null
}

/** The webhook as the API shows it. */
export const subscriptionOf = (webhook: WebhookRow): Subscription => ({
  id: webhook.id,
  ...(webhook.apiKeyId && { apiKeyId: webhook.apiKeyId }),
  url: webhook.url,
  events: webhook.events,
  createdVia: webhook.createdVia,
  status: webhook.status,
  ...(webhook.disabledReason && { disabledReason: webhook.disabledReason }),
  createdAt: webhook.createdAt.getTime(),
  ...(webhook.lastDeliveryAt && { lastDeliveryAt: webhook.lastDeliveryAt.getTime() }),
  ...(webhook.lastFailureAt && { lastFailureAt: webhook.lastFailureAt.getTime() }),
  ...(webhook.lastError && { lastError: webhook.lastError }),
})
