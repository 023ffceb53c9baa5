// Generated from broadcasts.entities.ts by `npm run columns`: do not edit.
import { typed } from '../store/column-types.ts'
import { table } from '../store/tables.ts'
import type * as entities from './broadcasts.entities.ts'

export const broadcasts = table('broadcasts', {
  id: 'text',
  accountId: 'text',
  status: typed<entities.Broadcast['status']>('text'),
  name: 'text',
  listId: 'text',
  segmentId: 'text?',
  filter: 'text?',
  filterNames: typed<entities.Broadcast['filterNames']>('jsonb'),
  audience: typed<entities.Broadcast['audience']>('jsonb'),
  projectId: 'text',
  topicId: 'text?',
  subject: 'text?',
  sender: 'text?',
  replyTo: 'text?',
  testedVersion: 'int4?',
  variants: typed<entities.Broadcast['variants']>('jsonb'),
  shareQueuedAt: 'timestamptz?',
  winner: 'int4?',
  variantSent: typed<entities.Broadcast['variantSent']>('jsonb'),
  letter: typed<entities.Broadcast['letter']>('jsonb'),
  rate: 'int4?',
  scheduledAt: 'timestamptz?',
  startedAt: 'timestamptz?',
  checkpoint: 'text?',
  pausedAt: 'timestamptz?',
  pacedAt: 'timestamptz?',
  recipients: 'int4',
  queued: 'int4',
  sent: 'int4',
  failed: 'int4',
  suppressed: 'int4',
  createdAt: 'timestamptz',
  reason: 'text?',
  finishedAt: 'timestamptz?',
})

export const broadcastRecipients = table('broadcast_recipients', {
  accountId: 'text',
  broadcastId: 'text',
  number: 'int4',
  rowIds: '_text',
  isRest: 'bool?',
  listIds: '_text?',
})
