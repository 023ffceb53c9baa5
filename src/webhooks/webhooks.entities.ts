import { defineEntity, p } from '@mikro-orm/postgresql'
import { owned, tenantFilter } from '../store/tenant.ts'

/** An account's subscription to events. URL, secret and state are those of the delivery target with the same id. */
const WebhookSchema = defineEntity({
  name: 'Webhook',
  tableName: 'webhooks',
  filters: tenantFilter,
  indexes: [{ properties: ['accountId', 'id'] }, { properties: ['apiKeyId'] }],
  properties: {
    id: p.text().collation('C').primary(),
    ...owned,
    apiKeyId: p.text().collation('C').nullable(),
    events: p.array(),
    createdVia: p.enum(['dashboard', 'api', 'connector_a', 'connector_b'] as const),
    /** Created by `svc listen`, and deleted when that command has ended. */
    temporary: p.boolean().default(false),
    createdAt: p.datetime(),
  },
})
export class Webhook extends WebhookSchema.class {}
WebhookSchema.setClass(Webhook)
