import { defineEntity, p } from '@mikro-orm/postgresql'
import { owned, tenantFilter } from '../store/owned.ts'

const WebhookSchema = defineEntity({
  name: 'Webhook',
  tableName: 'webhooks',
  filters: tenantFilter,
  indexes: [{ properties: ['accountId', 'id'] }, { properties: ['apiKeyId'] }],
  properties: {
    id: p.text().collation('C').primary(),
    ...owned,
    apiKeyId: p.text().collation('C').nullable(),
    url: p.text(),
    events: p.array(),
    createdVia: p.enum(['dashboard', 'api', 'connector_a', 'connector_b'] as const),
    status: p.enum(['active', 'disabled'] as const),
    disabledReason: p.enum(['gone', 'api-key-revoked'] as const).nullable(),
    /** The signing secret, sealed (AES-256-GCM) with the webhook's id as context. */
    sealedSecret: p.text(),
    /** Made by `svc listen`: removed when its listener is gone. */
    temporary: p.boolean().default(false),
    createdAt: p.datetime(),
    lastDeliveryAt: p.datetime().nullable(),
    lastFailureAt: p.datetime().nullable(),
    lastError: p.text().nullable(),
  },
})
export class Webhook extends WebhookSchema.class {}
WebhookSchema.setClass(Webhook)

/** The outbox: one row for one event, with the final JSON text that every delivery of it posts. */
const EventSchema = defineEntity({
  name: 'Event',
  tableName: 'events',
  properties: {
    accountId: p.text().collation('C').primary(),
    id: p.text().collation('C').primary(),
    type: p.text(),
    payload: p.text(),
    createdAt: p.datetime(),
  },
})
export class Event extends EventSchema.class {}
EventSchema.setClass(Event)

/**
 * One event on its way to one webhook. A queue table: no relations, claimed by one statement, and what the claim changes
 * (`claim`, `leasedUntil`) stands in no index, so that claiming rewrites no index.
 */
const DeliverySchema = defineEntity({
  name: 'Delivery',
  tableName: 'deliveries',
  indexes: [
    {
      name: 'deliveries_due_index',
      expression: `create index "deliveries_due_index" on "deliveries" ("webhook_id", "due_at") where "status" = 'pending'`,
    },
    {
      name: 'deliveries_exhausted_index',
      expression: `create index "deliveries_exhausted_index" on "deliveries" ("account_id", "id") where "status" = 'exhausted'`,
    },
  ],
  properties: {
    accountId: p.text().collation('C').primary(),
    id: p.text().collation('C').primary(),
    eventId: p.text().collation('C'),
    webhookId: p.text().collation('C'),
    type: p.text(),
    status: p.enum(['pending', 'delivered', 'exhausted', 'cancelled'] as const),
    /** Attempts since the delivery was made or replayed: the place in the retry schedule. */
    tries: p.integer().default(0),
    dueAt: p.datetime(),
    /** Counts claims: only the newest claim may record its result. */
    claim: p.integer().default(0),
    leasedUntil: p.datetime().nullable(),
    /** Every attempt, oldest first: `{ at, status, error, durationMs, snippet }`. */
    attempts: p.json<DeliveryAttempt[]>().defaultRaw(`'[]'`),
    createdAt: p.datetime(),
    finishedAt: p.datetime().nullable(),
  },
})

export interface DeliveryAttempt {
  /** epoch ms */
  at: number
  status: number | null
  error: string | null
  durationMs: number
  snippet: string
}

export class Delivery extends DeliverySchema.class {}
DeliverySchema.setClass(Delivery)
