import { defineEntity, p } from '@mikro-orm/postgresql'
import { tenantFilter } from '../store/owned.ts'

/** The account's own payment provider. */
const PaymentProviderSchema = defineEntity({
  name: 'StoredPaymentProvider',
  tableName: 'payment_providers',
  filters: tenantFilter,
  properties: {
    accountId: p.text().collation('C').primary(),
    provider: p.enum(['stripe'] as const),
    /** Both sealed with the account's id as context. */
    sealedKey: p.text(),
    sealedWebhookSecret: p.text(),
    /** What is shown of the key. */
    keyLast4: p.text(),
    updatedAt: p.datetime(),
  },
})
export class StoredPaymentProvider extends PaymentProviderSchema.class {}
PaymentProviderSchema.setClass(StoredPaymentProvider)

/** What a recipient set out to pay, and did. */
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
    /** Empty once the recipient was erased: what was paid stays in the books. */
    email: p.text().collation('C'),
    currency: p.text(),
    /** Of all items together. */
    amount: p.decimal().precision(14).scale(2),
    /** Each with the amount of one. */
    items: p.json<{ name: string; quantity: number; amount: number }[]>(),
    provider: p.enum(['stripe', 'test'] as const),
    status: p.enum(['open', 'paid', 'expired'] as const),
    /** Where it is paid, at the provider, and until when; null: not known yet. */
    sessionId: p.text().collation('C').nullable(),
    sessionUrl: p.text().nullable(),
    sessionEndsAt: p.datetime().nullable(),
    createdAt: p.datetime(),
    paidAt: p.datetime().nullable(),
  },
})
export class PaymentOrder extends PaymentOrderSchema.class {}
PaymentOrderSchema.setClass(PaymentOrder)
