// Generated from checkout.entities.ts by `npm run columns`: do not edit.
import { typed } from '../store/column-types.ts'
import { table } from '../store/tables.ts'
import type * as entities from './checkout.entities.ts'

export const paymentOrders = table('payment_orders', {
  accountId: 'text',
  id: 'text',
  messageId: 'text',
  blockId: 'text',
  projectId: 'text',
  projectVersion: 'int4',
  email: 'text',
  currency: 'text',
  amount: 'numeric',
  items: typed<entities.PaymentOrder['items']>('jsonb'),
  provider: typed<entities.PaymentOrder['provider']>('text'),
  status: typed<entities.PaymentOrder['status']>('text'),
  sessionId: 'text?',
  sessionUrl: 'text?',
  sessionEndsAt: 'timestamptz?',
  sessionKey: 'text?',
  createdAt: 'timestamptz',
  paidAt: 'timestamptz?',
})

export const paymentProviders = table('payment_providers', {
  accountId: 'text',
  provider: typed<entities.StoredPaymentProvider['provider']>('text'),
  sealedKey: 'text',
  sealedWebhookSecret: 'text',
  formerSealedKey: 'text?',
  formerSealedWebhookSecret: 'text?',
  keyLast4: 'text',
  updatedAt: 'timestamptz',
})
