import { defineEntity, p } from '@mikro-orm/postgresql'
import { owned, tenantFilter } from '../store/tenant.ts'

/**
 * Where deliveries go: an account's subscription (its row in `webhooks` has the same id), a project's webhook, or the
 * webhook step of a journey.
 */
const DeliveryTargetSchema = defineEntity({
  name: 'DeliveryTarget',
  tableName: 'delivery_targets',
  filters: tenantFilter,
  indexes: [
    { properties: ['accountId', 'id'] },
    {
      name: 'delivery_targets_due_index',
      expression: `create index "delivery_targets_due_index" on "delivery_targets" ("next_due_at") where "status" = 'active' and "next_due_at" is not null`,
    },
    {
      name: 'delivery_targets_ended_index',
      expression: `create index "delivery_targets_ended_index" on "delivery_targets" ("account_id", "id") where "status" <> 'active'`,
    },
    {
      name: 'delivery_targets_deleted_index',
      expression: `create index "delivery_targets_deleted_index" on "delivery_targets" ("deleted_at") where "status" = 'deleted'`,
    },
    {
      name: 'delivery_targets_former_index',
      expression: `create index "delivery_targets_former_index" on "delivery_targets" ("former_secret_until") where "former_secret_until" is not null`,
    },
  ],
  properties: {
    id: p.text().collation('C').primary(),
    ...owned,
    kind: p.enum(['subscription', 'project', 'journey'] as const),
    /** The project or the journey. */
    ownerId: p.text().collation('C').nullable(),
    url: p.text(),
    /** The signing secret, sealed (AES-256-GCM) with the target's id as context. It is null if posts are not signed. */
    sealedSecret: p.text().nullable(),
    /** The secret before the last rotation, sealed likewise: it signs too until `formerSecretUntil`. */
    formerSealedSecret: p.text().nullable(),
    formerSecretUntil: p.datetime().nullable(),
    /** The row of a deleted target is purged once it has no deliveries. */
    status: p.enum(['active', 'disabled', 'deleted'] as const),
    disabledReason: p.enum(['gone', 'api-key-revoked'] as const).nullable(),
    /** The time before which no unclaimed delivery is due, except those that a notice has just announced. It is null if there is none. */
    nextDueAt: p.datetime().nullable(),
    /** Counts how often `nextDueAt` was lowered: a claim that computed it from older rows does not overwrite it. */
    version: p.integer().default(0),
    /** Time-outs since the last answer. */
    timeouts: p.integer().default(0),
    /** Nothing is posted before. */
    quietUntil: p.datetime().nullable(),
    lastDeliveryAt: p.datetime().nullable(),
    lastFailureAt: p.datetime().nullable(),
    lastError: p.text().nullable(),
    createdAt: p.datetime(),
    /** When `status` became deleted. */
    deletedAt: p.datetime().nullable(),
  },
})
export class DeliveryTarget extends DeliveryTargetSchema.class {}
DeliveryTargetSchema.setClass(DeliveryTarget)

/** The outbox: one row for each event, with the final JSON text that all of its deliveries post. */
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

export interface DeliveryAttempt {
  /** epoch ms */
  at: number
  status: number | null
  error: string | null
  durationMs: number
  snippet: string
}

const identity = {
  accountId: p.text().collation('C').primary(),
  id: p.text().collation('C').primary(),
  targetId: p.text().collation('C'),
  /** The idempotency key: the id of the event that is delivered, or the caller's own where there is a body. */
  key: p.text().collation('C'),
  type: p.text(),
  /** The text to post. It is null for the payload of the event. */
  body: p.text().nullable(),
}

const progress = {
  /** Attempts since the delivery was created or replayed: its position in the retry schedule. */
  tries: p.integer().default(0),
  /** The number of claims. Only the newest claim may record its result. */
  claim: p.integer().default(0),
  /** Every attempt, oldest first. */
  attempts: p.json<DeliveryAttempt[]>().defaultRaw(`'[]'`),
  createdAt: p.datetime(),
}

/**
 * The queue of pending deliveries. A delivery that ends moves to `ended_deliveries`, so the queue's indexes contain pending rows
 * only, and history does not slow down claims. No index has the columns that a claim changes (`claim`, `worker`).
 */
const PendingDeliverySchema = defineEntity({
  name: 'PendingDelivery',
  tableName: 'pending_deliveries',
  indexes: [{ name: 'pending_deliveries_due_index', properties: ['targetId', 'dueAt'] }],
  properties: {
    ...identity,
    ...progress,
    /** Size of the posted body. */
    bytes: p.integer(),
    dueAt: p.datetime(),
    /** The worker that claimed it (workers.id). It is null if it is unclaimed. */
    worker: p.integer().nullable(),
  },
})
export class PendingDelivery extends PendingDeliverySchema.class {}
PendingDeliverySchema.setClass(PendingDelivery)

/** The history of deliveries. Rows are inserted once, and deleted by the purge or by a replay. */
const EndedDeliverySchema = defineEntity({
  name: 'EndedDelivery',
  tableName: 'ended_deliveries',
  indexes: [
    { properties: ['accountId', 'targetId', 'status', 'id'] },
    {
      name: 'ended_deliveries_rare_index',
      expression: `create index "ended_deliveries_rare_index" on "ended_deliveries" ("account_id", "status", "id") where "status" <> 'delivered'`,
    },
    // For the purge. Rows are inserted in the order of this time, so the index grows at its end.
    { name: 'ended_deliveries_finished_index', properties: ['finishedAt'] },
  ],
  properties: {
    ...identity,
    status: p.enum(['delivered', 'exhausted', 'cancelled'] as const),
    ...progress,
    finishedAt: p.datetime(),
  },
})
export class EndedDelivery extends EndedDeliverySchema.class {}
EndedDeliverySchema.setClass(EndedDelivery)
