// Generated from deliveries.entities.ts by `npm run columns`: do not edit.
import { typed } from '../store/column-types.ts'
import { table } from '../store/tables.ts'
import type * as entities from './deliveries.entities.ts'

export const deliveryTargets = table('delivery_targets', {
  id: 'text',
  accountId: 'text',
  kind: typed<entities.DeliveryTarget['kind']>('text'),
  ownerId: 'text?',
  url: 'text',
  sealedSecret: 'text?',
  formerSealedSecret: 'text?',
  formerSecretUntil: 'timestamptz?',
  status: typed<entities.DeliveryTarget['status']>('text'),
  disabledReason: typed<entities.DeliveryTarget['disabledReason']>('text'),
  nextDueAt: 'timestamptz?',
  version: 'int4',
  timeouts: 'int4',
  quietUntil: 'timestamptz?',
  lastDeliveryAt: 'timestamptz?',
  lastFailureAt: 'timestamptz?',
  lastError: 'text?',
  createdAt: 'timestamptz',
  deletedAt: 'timestamptz?',
})

export const endedDeliveries = table('ended_deliveries', {
  accountId: 'text',
  id: 'text',
  targetId: 'text',
  key: 'text',
  type: 'text',
  body: 'text?',
  status: typed<entities.EndedDelivery['status']>('text'),
  tries: 'int4',
  claim: 'int4',
  attempts: typed<entities.EndedDelivery['attempts']>('jsonb'),
  createdAt: 'timestamptz',
  finishedAt: 'timestamptz',
})

export const events = table('events', {
  accountId: 'text',
  id: 'text',
  type: 'text',
  payload: 'text',
  createdAt: 'timestamptz',
})

export const pendingDeliveries = table('pending_deliveries', {
  accountId: 'text',
  id: 'text',
  targetId: 'text',
  key: 'text',
  type: 'text',
  body: 'text?',
  tries: 'int4',
  claim: 'int4',
  attempts: typed<entities.PendingDelivery['attempts']>('jsonb'),
  createdAt: 'timestamptz',
  bytes: 'int4',
  dueAt: 'timestamptz',
  worker: 'int4?',
})
