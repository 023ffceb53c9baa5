// Generated from webhooks.entities.ts by `npm run columns`: do not edit.
import { typed } from '../store/column-types.ts'
import { table } from '../store/tables.ts'
import type * as entities from './webhooks.entities.ts'

export const webhooks = table('webhooks', {
  id: 'text',
  accountId: 'text',
  apiKeyId: 'text?',
  events: '_text',
  createdVia: typed<entities.Webhook['createdVia']>('text'),
  temporary: 'bool',
  createdAt: 'timestamptz',
})
