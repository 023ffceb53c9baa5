// Generated from webhooks.entities.ts by `npm run columns`: do not edit.
import { table } from '../store/columns.ts'
import { typed } from '../store/types.ts'
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
