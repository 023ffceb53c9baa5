import { defineEntity, p } from '@mikro-orm/postgresql'
import { tenantFilter } from '../store/tenant.ts'

const PaymentProviderSchema = defineEntity({
  name: 'StoredPaymentProvider',
  tableName: 'payment_providers',
  filters: tenantFilter,
  properties: {
    accountId: p.text().collation('C').primary(),
    provider: p.enum(['stripe'] as const),
    /** The API key and the webhook secret are sealed, with the account's id as context. */
    sealedKey: p.text(),
    sealedWebhookSecret: p.text(),
    /** The secrets before the last change, sealed too: sessions that were opened with them may still be paid. */
    formerSealedKey: p.text().nullable(),
    formerSealedWebhookSecret: p.text().nullable(),
    /** The last 4 characters of the key, for display. */
    keyLast4: p.text(),
    updatedAt: p.datetime(),
  },
})
export class StoredPaymentProvider extends PaymentProviderSchema.class {}
PaymentProviderSchema.setClass(StoredPaymentProvider)

/** The order of a recipient for a checkout block. */
const PaymentOrderSchema = defineEntity({
  name: 'PaymentOrder',
  tableName: 'payment_orders',
  filters: tenantFilter,
  indexes: [
    { name: 'payment_orders_block_index', properties: ['accountId', 'messageId', 'blockId'] },
    {
      name: 'payment_orders_open_index',
      expression: `create unique index "payment_orders_open_index" on "payment_orders" ("account_id", "message_id", "block_id") where "status" = 'open'`,
    },
    {
      name: 'payment_orders_session_index',
      expression: `create unique index "payment_orders_session_index" on "payment_orders" ("account_id", "session_id") where "session_id" is not null`,
    },
    { name: 'payment_orders_email_index', properties: ['accountId', 'email'] },
  ],
  properties: {
    accountId: p.text().collation('C').primary(),
    id: p.text().collation('C').primary(),
    messageId: p.text().collation('C'),
    blockId: p.text().collation('C'),
    projectId: p.text().collation('C'),
    projectVersion: p.integer(),
    /** It is empty after the recipient was erased, because payments stay as business records. */
    email: p.text().collation('C'),
    currency: p.text(),
    /** The total of all items. */
    amount: p.decimal().precision(14).scale(2),
    /** The `amount` of an item is the price of one. */
    items: p.json<{ name: string; quantity: number; amount: number }[]>(),
    provider: p.enum(['stripe', 'test'] as const),
    status: p.enum(['open', 'paid', 'expired'] as const),
    /** The session at the provider, and when it ends. It is null until it is recorded. */
    sessionId: p.text().collation('C').nullable(),
    sessionUrl: p.text().nullable(),
    sessionEndsAt: p.datetime().nullable(),
    /** The hash of the key that opened the session. It is null if it is not recorded, or the provider has no keys. */
    sessionKey: p.text().collation('C').nullable(),
    createdAt: p.datetime(),
    paidAt: p.datetime().nullable(),
  },
})
export class PaymentOrder extends PaymentOrderSchema.class {}
PaymentOrderSchema.setClass(PaymentOrder)
