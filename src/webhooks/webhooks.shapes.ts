import { z } from 'zod'
import { EventName } from '../events/shapes.ts'
import { epochMs } from '../lib/common-shapes.ts'
import { withMaxItems } from '../lib/max-items.ts'
import { text } from '../lib/text.ts'
import { webhookUrlMaxLength } from '../net/webhook-url.ts'

/** The body of POST /webhooks. `event` is a shorthand for `events` with one item; both together are their union. */
export const NewWebhook = z
  .object({
    url: text(webhookUrlMaxLength).meta({
      format: 'uri',
      pattern: '^[Hh][Tt][Tt][Pp][Ss]?://',
      description: 'Where events are posted: a public http or https URL, at most 2,048 characters',
    }),
    events: withMaxItems(z.array(EventName).min(1), 100)
      .optional()
      .describe('1 to 100 event types. Default: only `event`'),
    event: EventName.optional().describe(
      'One event type, in place of `events` or added to them. Default: only `events`',
    ),
    source: z
      .enum(['connector_a', 'connector_b'])
      .optional()
      .describe('The automation platform that subscribes. Default: none, which shows as `api`'),
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

/** A subscription as the API shows it (docs/reference/api.md#webhooksubscription). Properties without a value are absent. */
export const Subscription = z
  .strictObject({
    id: z.string().describe('Id of the subscription'),
    apiKeyId: z.string().optional().describe('Id of the key that created it; absent if none did'),
    url: z.string().meta({ format: 'uri', description: 'Where events are posted' }),
    events: z.array(EventName).describe('The event types that it gets'),
    createdVia: z.enum(createdVias).describe('What created it; `dashboard`: the command `svc`'),
    status: z.enum(['active', 'disabled']).describe('`disabled`: it gets no events'),
    disabledReason: z
      .enum(['gone', 'api-key-revoked'])
      .optional()
      .describe(
        'Why it is disabled: its endpoint answered 410, or its key was revoked; absent if an operator disabled it',
      ),
    createdAt: epochMs('When it was created'),
    lastDeliveryAt: epochMs('When a delivery last succeeded').optional(),
    lastFailureAt: epochMs('When a delivery last failed').optional(),
    lastError: z.string().optional().describe('Why the last failed delivery failed'),
  })
  .meta({
    id: 'WebhookSubscription',
    description: 'A URL that gets events of the account; its secret is never part of it',
  })
export type Subscription = z.infer<typeof Subscription>

/** The result of a creation or a rotation. No other result has the secret. */
export const NewSubscription = z.strictObject({
  id: z.string().describe('Id of the subscription'),
  secret: z.string().describe('The signing secret, which no other response contains'),
  subscription: Subscription,
})
export type NewSubscription = z.infer<typeof NewSubscription>
